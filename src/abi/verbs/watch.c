/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the sanitizer's observer. */
#include "abi/verbs/watch.h"

#include "abi/check/attach.h"

const struct adv_check_observer *adv_ibv_observer;

__attribute__((constructor)) static void find_observer(void)
{
	adv_ibv_observer = adv_check_attach(&adv_ibv_watch_library, &adv_ibv_observer);
}
