/* All of Scaly's C interface. */
#ifndef SCALY_SCALY_H
#define SCALY_SCALY_H

#include "scaly/base.h"
#include "scaly/cache.h"
#include "scaly/context.h"
#include "scaly/derive.h"
#include "scaly/expr.h"
#include "scaly/function.h"
#include "scaly/kernel.h"
#include "scaly/module.h"
#include "scaly/program.h"
#include "scaly/sparsity.h"
#include "scaly/target.h"
#include "scaly/text.h"

#endif
