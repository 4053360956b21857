/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "transport/congestion_control.h"

const struct adv_cc_ops *adv_cc_ops_of(enum adv_cc_algorithm algorithm)
{
	static const struct adv_cc_ops *const ops[] = {
		[ADV_CC_DCQCN] = &adv_cc_dcqcn, [ADV_CC_NONE] = NULL};

	return ops[algorithm];
}
