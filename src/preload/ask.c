/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "preload/ask.h"

#include "base/log.h"
#include "host/control.h"

bool adv_ask(struct adv_contents *c)
{
	char why[256];
	struct adv_control *control = adv_control_connect(true, why, sizeof(why));
	bool good;

	if (!control) {
		adv_error("no device in /sys/class/infiniband: %s", why);
		return false;
	}
	good = adv_gid_table_read(adv_control_gids(control), &c->gids);
	c->counted = adv_control_counters(control, &c->counters) == 0;
	adv_control_close(control);
	return good;
}
