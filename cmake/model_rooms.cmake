# The rooms of the model, whose bodies (include/fabricost/ROOM/*-inl.hpp) src/ROOM/ROOM.cpp compiles once.
set(FABRICOST_MODEL_ROOMS hardware algorithms price choice predict network pipeline model experts memory kernels serving training economics rl parameters)
list(TRANSFORM FABRICOST_MODEL_ROOMS REPLACE "(.+)" "\\1/\\1.cpp" OUTPUT_VARIABLE FABRICOST_MODEL_SOURCES)
