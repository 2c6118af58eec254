// rows.cuh for the host compiler: where its helpers meet, the line is that of the kernel's call.
#pragma once

#ifdef OW_VERIFY
#undef OW_LINE
#define OW_LINE ow_line
#include "../rows.cuh"
#undef OW_LINE
#define OW_LINE __LINE__
#else
#include "../rows.cuh"
#endif
