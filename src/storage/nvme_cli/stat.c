/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb nvme stat: what the namespaces and hosts of a running target do. */
#include <stdio.h>

#include "storage/nvme_cli/command.h"
#include "storage/nvme_server/options.h"
#include "storage/nvme_server/stat_client.h"

#define MB 1e6

static void print_target_head(const char *title)
{
	printf("%-58s %10s %10s %9s %9s %9s %9s %7s\n", title, "read IOPS", "write IOPS",
	       "read MB/s", "write MB/s", "read us", "write us", "errors");
}

static void print_target_row(const struct adv_kit_stat_row *row,
			     const struct adv_kit_stat_row *last, double seconds)
{
	struct adv_nvme_rates r = adv_nvme_stat_rates(row, last, seconds);
	char name[ADV_KIT_STAT_NAME + 16];

	if (row->nsid)
		snprintf(name, sizeof(name), "%s %u", row->name, row->nsid);
	else
		snprintf(name, sizeof(name), "%s", row->name);
	printf("%-58s %10.0f %10.0f %9.1f %9.1f %9.1f %9.1f %7llu\n", name, r.reads, r.writes,
	       r.read_bytes / MB, r.write_bytes / MB, r.read_us, r.write_us,
	       (unsigned long long)r.errors);
}

int adv_nvme_stat_main(int argc, char **argv)
{
	const struct adv_kit_stat_printer printer = {print_target_head, print_target_row};
	struct adv_kit_stat_options o;

	adv_options_parse(&adv_nvme_stat_syntax, argc, argv, &o);
	return adv_kit_stat_show(&adv_nvme_stat_kind, &o, o.control ? o.control : ADV_NVME_PORT,
				 &printer);
}
