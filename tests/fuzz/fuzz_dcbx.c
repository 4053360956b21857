/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The input is an LLDP frame. What was read from an accepted frame is written and read again, which
 * gives the same, and can be compared with a plan. */
#include <string.h>

#include "fabric/plan/dcbx.h"
#include "fuzz.h"

static void check_text(void *user, const char *text)
{
	FUZZ_CHECK(strlen(text) > 10 && text[strlen(text) - 1] == '.');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct adv_plan_dcb plan = {
		.lossless = 8, .strict = 64, .used = 255, .percent = {50, [3] = 50}};
	uint8_t frame[ADV_DCBX_FRAME_MAX];
	struct adv_dcbx d, again;
	const char *wrong = adv_dcbx_decode(data, size, &d);
	size_t len;

	if (wrong) {
		FUZZ_CHECK(strlen(wrong) > 0);
		return 0;
	}
	(void)adv_plan_dcbx_compare(&plan, &d, check_text, NULL);
	len = adv_dcbx_encode(&d, frame, sizeof(frame));
	FUZZ_CHECK(len > 0);
	FUZZ_CHECK(!adv_dcbx_decode(frame, len, &again));
	d.old = d.more_apps = false;
	FUZZ_CHECK(memcmp(&d, &again, sizeof(d)) == 0);
	return 0;
}
