/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the configuration of congestion control from the environment (docs/congestion-control.md).
 */
#include "runtime/device/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

int adv_device_congestion_read(struct adv_cc_config *config, char *why, size_t why_len)
{
	const char *text = secure_getenv(ADV_CC_VARIABLE);
	char shown[ADV_CC_TEXT], wrong[ADV_CC_TEXT];

	*config = adv_cc_default();
	if (!text || !*text)
		return 0;
	if (!adv_cc_parse(config, text, wrong, sizeof(wrong))) {
		snprintf(why, why_len, "%s: %s", ADV_CC_VARIABLE, wrong);
		return EINVAL;
	}
	adv_cc_print(config, shown, sizeof(shown));
	adv_info("congestion control: %s", shown);
	return 0;
}
