/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Answers to requests for the counters of single queue pairs. */
#ifndef ADV_RUNTIME_PRELOAD_NLDEV_STATISTIC_H
#define ADV_RUNTIME_PRELOAD_NLDEV_STATISTIC_H

#include "runtime/preload/nldev_request.h"

/* Lists the queue pairs with their counters; regions have none. 0 or errno: EOPNOTSUPP: objects of
 * another kind were requested. After an error the caller discards the message. */
int adv_nldev_list_statistics(struct adv_nldev_request *r);

#endif
