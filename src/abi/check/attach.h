/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a library finds the sanitizer's observer. */
#ifndef ADV_ABI_CHECK_ATTACH_H
#define ADV_ABI_CHECK_ATTACH_H

#include <dlfcn.h>
#include <stdlib.h>

#include "abi/check/observer.h"

/* Returns the observer, or NULL without `adverb check`: the symbol is looked up only if its
 * environment variable is set. library and code: as in attach() of the observer. */
static inline const struct adv_check_observer *
adv_check_attach(const struct adv_check_library *library, const void *code)
{
	const struct adv_check_observer *o;

	if (!secure_getenv(ADV_CHECK_ENVIRONMENT))
		return NULL;
	o = dlsym(RTLD_DEFAULT, ADV_CHECK_SYMBOL);
	if (!o || o->version != ADV_CHECK_VERSION)
		return NULL;
	o->attach(library, code);
	return o;
}

#endif
