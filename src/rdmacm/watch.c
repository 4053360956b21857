/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the sanitizer's observer. */
#include "rdmacm/watch.h"

#include <dlfcn.h>
#include <stdlib.h>

const struct adv_check_observer *adv_rdma_observer;

/* Without the environment variable the symbol is not looked up. */
__attribute__((constructor)) static void find_observer(void)
{
	const struct adv_check_observer *o;

	if (!secure_getenv(ADV_CHECK_ENVIRONMENT))
		return;
	o = dlsym(RTLD_DEFAULT, ADV_CHECK_SYMBOL);
	if (!o || o->version != ADV_CHECK_VERSION)
		return;
	o->attach(NULL, &adv_rdma_observer);
	adv_rdma_observer = o;
}
