/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb nvme stat: what the namespaces and hosts of a running target do. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "storage/nvme_cli/command.h"
#include "storage/nvme_server/options.h"
#include "storage/nvme_server/stat_client.h"
#include "storage/nvme_server/stat_file.h"

#define MB 1e6

static void print_head(const char *what)
{
	printf("%-58s %10s %10s %9s %9s %9s %9s %7s\n", what, "read IOPS", "write IOPS",
	       "read MB/s", "write MB/s", "read us", "write us", "errors");
}

static void print_row(const struct adv_nvme_stat_row *row, const struct adv_nvme_stat *last,
		      double seconds)
{
	struct adv_nvme_rates r = adv_nvme_stat_rates(row, adv_nvme_stat_find(last, row), seconds);
	char name[ADV_NVME_NQN_LEN + 16];

	if (row->nsid)
		snprintf(name, sizeof(name), "%s %u", row->nqn, row->nsid);
	else
		snprintf(name, sizeof(name), "%s", row->nqn);
	printf("%-58s %10.0f %10.0f %9.1f %9.1f %9.1f %9.1f %7llu\n", name, r.reads, r.writes,
	       r.read_bytes / MB, r.write_bytes / MB, r.read_us, r.write_us,
	       (unsigned long long)r.errors);
}

/* Prints what was done between two readings. The hosts are behind the namespaces. */
static void print_rates(const struct adv_nvme_stat *now, const struct adv_nvme_stat *last)
{
	double seconds = (double)(now->at_ns - last->at_ns) / 1e9;

	print_head("Namespace");
	for (size_t i = 0; i < now->count; i++) {
		if (now->row[i].nsid)
			print_row(&now->row[i], last, seconds);
	}
	print_head("Host");
	for (size_t i = 0; i < now->count; i++) {
		if (!now->row[i].nsid && now->row[i].controllers)
			print_row(&now->row[i], last, seconds);
	}
	printf("\n");
	fflush(stdout);
}

static bool print_json(const struct adv_nvme_stat_options *o, char why[ADV_NVME_CONTROL_REPLY])
{
	char *text = adv_nvme_stat_file_fetch(&adv_nvme_control_target, o->control, why);

	if (text)
		puts(text);
	free(text);
	return text;
}

static bool print_stat(const struct adv_nvme_stat_options *o, char why[ADV_NVME_CONTROL_REPLY])
{
	const struct timespec pause = {.tv_sec = (time_t)o->seconds};
	struct adv_nvme_stat last, now;
	bool ok = adv_nvme_stat_read(o->control, &last, why);

	if (!ok)
		return false;
	for (uint64_t i = 0; ok && i < o->count; i++) {
		nanosleep(&pause, NULL);
		ok = adv_nvme_stat_read(o->control, &now, why);
		if (!ok)
			break;
		print_rates(&now, &last);
		adv_nvme_stat_free(&last);
		last = now;
	}
	adv_nvme_stat_free(&last);
	return ok;
}

int adv_nvme_stat_main(int argc, char **argv)
{
	char why[ADV_NVME_CONTROL_REPLY];
	struct adv_nvme_stat_options o;

	argp_parse(&adv_nvme_stat_argp, argc, argv, 0, NULL, &o);
	if (o.json ? print_json(&o, why) : print_stat(&o, why))
		return EXIT_SUCCESS;
	fprintf(stderr, "%s\n", why);
	return EXIT_FAILURE;
}
