/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The devices of the list, for ibv_open_device(). */
#ifndef ADV_ABI_VERBS_DEVICE_H
#define ADV_ABI_VERBS_DEVICE_H

#include <infiniband/verbs.h>

#include "runtime/identity/rails.h"

/* Returns the rail of a device of ibv_get_device_list(). It stays. */
const struct adv_rail *adv_ibv_rail(struct ibv_device *device);

#endif
