/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connects commands to adverbd, and says why there is no connection. */
#include "cli/command/command.h"

#include <errno.h>

#include "runtime/steering/port_holder.h"
#include "runtime/identity/pkeys.h"
#include "nic/wire/packet.h"

/* True if another user's adverbd, or another program, holds the port; text says so. */
static bool is_port_taken(char *text, size_t len)
{
	if (!adv_port_holder_hinders(ADV_ROCE_UDP_PORT))
		return false;
	adv_port_holder_describe(ADV_ROCE_UDP_PORT, text, len);
	return true;
}

bool adv_cli_port_conflict(char *text, size_t len)
{
	return !adv_port_holder_is_idle(ADV_ROCE_UDP_PORT) && is_port_taken(text, len);
}

void adv_cli_absence(int error, const char *reason, char *text, size_t len)
{
	char port[1024];

	if (error == ECONNREFUSED && is_port_taken(port, sizeof(port)))
		snprintf(text, len, "no adverbd for your user runs in this network namespace: %s",
			 port);
	else
		snprintf(text, len, "%s%s", reason,
			 error == ECONNREFUSED ? "; the first program that uses RDMA starts it"
					       : "");
}

void adv_cli_warn_of_pkeys(struct adv_control *c, const char *who)
{
	struct adv_gid_table t;
	char why[512];

	if (adv_gid_table_read(adv_control_gids(c), &t) &&
	    !adv_pkeys_are_wanted(&t.pkeys, why, sizeof(why)))
		fprintf(stderr, "%s: %s\n", who, why);
}

struct adv_control *adv_cli_connect(bool start)
{
	char why[1024], text[2048];
	struct adv_control *c = adv_control_connect(start, why, sizeof(why));

	if (c) {
		adv_cli_warn_of_pkeys(c, "adverb");
		return c;
	}
	adv_cli_absence(errno, why, text, sizeof(text));
	fprintf(stderr, "adverb: %s\n", text);
	return NULL;
}
