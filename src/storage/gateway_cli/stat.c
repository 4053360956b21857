/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb gateway stat: what the clients and the server of a running gateway do. */
#include <stdio.h>
#include <stdlib.h>

#include "storage/gateway/stat_client.h"
#include "storage/gateway_cli/command.h"
#include "storage/gateway_cli/options.h"

#define MB 1e6

static void print_gateway_head(const char *title)
{
	printf("%-48s %10s %10s %10s %10s %7s\n", title, "IOPS", "call MB/s", "reply MB/s",
	       "mean us", "errors");
}

static void print_gateway_row(const struct adv_kit_stat_row *row,
			      const struct adv_kit_stat_row *last, double seconds)
{
	struct adv_gateway_rates r = adv_gateway_stat_rates(row, last, seconds);

	printf("%-48s %10.0f %10.1f %10.1f %10.1f %7llu\n", row->name, r.calls, r.call_bytes / MB,
	       r.reply_bytes / MB, r.us, (unsigned long long)r.errors);
}

/* Returns the name of the only gateway. NULL: prints the reason. */
static const char *find_only(void)
{
	static char names[ADV_KIT_CONTROL_NAMES][ADV_KIT_CONTROL_NAME + 1];
	size_t count = adv_kit_control_names(&adv_kit_control_gateway, names);

	if (count == 1)
		return names[0];
	if (count == 0)
		fprintf(stderr, "no gateway runs in this network namespace\n");
	else
		fprintf(stderr,
			"%zu gateways run, such as '%s' and '%s': choose one by --control NAME\n",
			count, names[0], names[1]);
	return NULL;
}

int adv_gateway_stat_main(int argc, char **argv)
{
	const struct adv_kit_stat_printer printer = {print_gateway_head, print_gateway_row};
	struct adv_kit_stat_options o;
	const char *name;

	adv_options_parse(&adv_gateway_stat_syntax, argc, argv, &o);
	name = o.control ? o.control : find_only();
	return name ? adv_kit_stat_show(&adv_gateway_stat_kind, &o, name, &printer) : EXIT_FAILURE;
}
