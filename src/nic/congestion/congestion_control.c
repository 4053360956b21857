/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/congestion/congestion_control.h"

const struct adv_cc_ops *adv_cc_ops_of(enum adv_cc_algorithm algorithm)
{
	static const struct adv_cc_ops *const ops[] = {
		[ADV_CC_DCQCN] = &adv_cc_dcqcn, [ADV_CC_NONE] = NULL,
		[ADV_CC_DCTCP] = &adv_cc_dctcp, [ADV_CC_TIMELY] = &adv_cc_timely,
		[ADV_CC_SWIFT] = &adv_cc_swift, [ADV_CC_HPCC] = &adv_cc_hpcc};

	return ops[algorithm];
}
