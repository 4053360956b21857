/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/preload/query.h"

#include <errno.h>

#include "base/log.h"
#include "runtime/control/control.h"

static struct adv_control *connect_control(void)
{
	char why[256];
	struct adv_control *control = adv_control_connect(true, why, sizeof(why));

	if (!control)
		adv_error("no device in /sys/class/infiniband: %s", why);
	return control;
}

bool adv_query_contents(struct adv_contents *c)
{
	struct adv_control *control = connect_control();
	char why[ADV_RAILS_WHY];

	if (!control)
		return false;
	if (adv_gid_table_read(adv_control_gids(control), &c->machine)) {
		c->rails = adv_rail_list_get(&c->machine, why, sizeof(why));
		if (!c->rails)
			adv_error("no device in /sys/class/infiniband: %s", why);
	}
	c->counted = c->rails && adv_rail_list_count(control, c->rails, c->counters) == 0;
	adv_control_close(control);
	return c->rails;
}

int adv_query_resources(enum adv_resource_kind kind, const char *device, adv_resource_fn *fn,
			void *user)
{
	struct adv_control *control = connect_control();
	const struct adv_resource_query query = {
		.kind = kind, .device = device, .fn = fn, .user = user};
	int error = control ? adv_resources_each(control, &query) : ENODEV;

	adv_control_close(control);
	return error;
}
