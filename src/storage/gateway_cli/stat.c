/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb gateway stat: what the clients and the server of a running gateway do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "storage/gateway_cli/command.h"
#include "storage/gateway_cli/options.h"
#include "storage/gateway/stat_client.h"
#include "storage/nvme_server/stat_file.h"

#define MB 1e6

static void print_head(const char *what)
{
	printf("%-48s %10s %10s %10s %10s %7s\n", what, "IOPS", "call MB/s", "reply MB/s",
	       "mean us", "errors");
}

static void print_row(const struct adv_gateway_stat_row *row, const struct adv_gateway_stat *last,
		      double seconds)
{
	struct adv_gateway_rates r =
		adv_gateway_stat_rates(row, adv_gateway_stat_find(last, row), seconds);

	printf("%-48s %10.0f %10.1f %10.1f %10.1f %7llu\n", row->name, r.calls, r.call_bytes / MB,
	       r.reply_bytes / MB, r.us, (unsigned long long)r.errors);
}

/* Prints what was done between two readings. */
static void print_rates(const struct adv_gateway_stat *now, const struct adv_gateway_stat *last)
{
	double seconds = (double)(now->at_ns - last->at_ns) / 1e9;

	for (unsigned clients = 0; clients < 2; clients++) {
		print_head(clients ? "Client" : "Server");
		for (size_t i = 0; i < now->count; i++) {
			const struct adv_gateway_stat_row *row = &now->row[i];

			if (clients ? !row->server && row->connections > 0 : row->server)
				print_row(row, last, seconds);
		}
	}
	printf("\n");
	fflush(stdout);
}

static bool print_json(const char *name, char why[ADV_NVME_CONTROL_REPLY])
{
	char *text = adv_nvme_stat_file_fetch(&adv_nvme_control_gateway, name, why);

	if (text)
		puts(text);
	free(text);
	return text;
}

static bool print_stat(const struct adv_gateway_stat_options *o, const char *name,
		       char why[ADV_NVME_CONTROL_REPLY])
{
	const struct timespec pause = {.tv_sec = (time_t)o->seconds};
	struct adv_gateway_stat last, now;
	bool ok = adv_gateway_stat_read(name, &last, why);

	if (!ok)
		return false;
	for (uint64_t i = 0; ok && i < o->count; i++) {
		nanosleep(&pause, NULL);
		ok = adv_gateway_stat_read(name, &now, why);
		if (!ok)
			break;
		print_rates(&now, &last);
		adv_gateway_stat_free(&last);
		last = now;
	}
	adv_gateway_stat_free(&last);
	return ok;
}

/* Finds the name of the only gateway. False: `why`. */
static bool find_only(char name[ADV_NVME_CONTROL_NAME + 1], char why[ADV_NVME_CONTROL_REPLY])
{
	static char names[ADV_NVME_CONTROL_NAMES][ADV_NVME_CONTROL_NAME + 1];
	size_t count = adv_nvme_control_names(&adv_nvme_control_gateway, names);

	if (count == 1)
		strcpy(name, names[0]);
	else if (count == 0)
		strcpy(why, "no gateway runs in this network namespace");
	else
		snprintf(why, ADV_NVME_CONTROL_REPLY,
			 "%zu gateways run, such as '%s' and '%s': choose one by --control NAME",
			 count, names[0], names[1]);
	return count == 1;
}

int adv_gateway_stat_main(int argc, char **argv)
{
	char why[ADV_NVME_CONTROL_REPLY], only[ADV_NVME_CONTROL_NAME + 1];
	struct adv_gateway_stat_options o;
	const char *name;

	argp_parse(&adv_gateway_stat_argp, argc, argv, 0, NULL, &o);
	name = o.control ? o.control : find_only(only, why) ? only : NULL;
	if (name && (o.json ? print_json(name, why) : print_stat(&o, name, why)))
		return EXIT_SUCCESS;
	fprintf(stderr, "%s\n", why);
	return EXIT_FAILURE;
}
