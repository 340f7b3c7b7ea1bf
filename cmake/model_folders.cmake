# The folders of the model, whose bodies (include/fabricost/FOLDER/*-inl.hpp) src/COMPONENT/FOLDER/FOLDER.cpp compiles once.
set(FABRICOST_CORE_MODEL hardware algorithms price choice predict experts)
set(FABRICOST_PLAN_MODEL network pipeline model memory kernels serving training economics rl)
