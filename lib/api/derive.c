/* Owns the public derivative requests (scaly/derive.h). */
#include "lib/api/api.h"
#include "lib/ad/derive.h"
