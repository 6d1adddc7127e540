// Unrolls the patches of a picture into columns: one output position per work-item, 256 per workgroup.
#include "im2col.h"
