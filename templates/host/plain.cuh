// opweave.cuh for kernels that call no special function: a sixth of g++'s time is theirs.
#pragma once

#define OW_NO_SPECIAL
#include "opweave.cuh"
