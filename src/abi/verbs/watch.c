/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/verbs/watch.h"

const struct adv_check_observer *adv_ibv_observer;
