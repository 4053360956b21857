/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Asking adverbd what the device is like now. */
#ifndef ADV_PRELOAD_ASK_H
#define ADV_PRELOAD_ASK_H

#include "preload/contents.h"

/* Starts adverbd if need be. False: it cannot be reached, which is logged. As long as
 * adv_control_connect() at worst; allocates; errno is lost. */
bool adv_ask(struct adv_contents *c);

#endif
