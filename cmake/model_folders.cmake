# The folders of the model. Bodies of core's (include/fabricost/FOLDER/*-inl.hpp) are compiled once, by src/core/FOLDER/FOLDER.cpp; plan's are src/plan/FOLDER/*.cpp.
set(FABRICOST_CORE_MODEL hardware algorithms price choice predict experts)
set(FABRICOST_PLAN_MODEL network pipeline model memory kernels serving training economics rl)
