/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/kit/stat_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "storage/kit/stat_file.h"

#define STAT(member) ADV_OPTION_OF(struct adv_kit_stat_options, member)

static void read_format(struct argp_state *state, const char *option, const char *arg, void *values)
{
	struct adv_kit_stat_options *o = values;

	o->json = adv_kit_option_json(state, option, arg);
}

static const struct adv_option intervals[] = {
	{"interval", 'i', "SECONDS", "Time of which the rates are (default 1)",
	 .value = ADV_VALUE_PLAIN, .unit = ADV_UNIT_COUNT, .least = 1, .most = 86400,
	 STAT(seconds)},
	{"count", 'n', "N", "Print rates N times (default 1)", .value = ADV_VALUE_PLAIN,
	 .unit = ADV_UNIT_COUNT, .least = 1, .most = UINT32_MAX, STAT(count)},
	{"output-format", 'o', "FORMAT", "normal, or json: counts since the start of the program",
	 .read = read_format},
};

const struct adv_options adv_kit_stat_intervals = {ADV_OPTION_TABLE(intervals), .about = NULL};
const struct adv_kit_stat_options adv_kit_stat_defaults = {NULL, 1, 1, false};

bool adv_kit_option_json(struct argp_state *state, const char *option, const char *arg)
{
	bool json = strcmp(arg, "json") == 0;

	if (!json && strcmp(arg, "normal") != 0)
		argp_error(state, "%s: '%s' is neither normal nor json", option, arg);
	return json;
}

/* Prints what was done between two readings. */
static void print_rates(const struct adv_kit_stat *now, const struct adv_kit_stat *last,
			const struct adv_kit_stat_printer *printer)
{
	double seconds = (double)(now->at_ns - last->at_ns) / 1e9;

	for (unsigned list = 0; list < ADV_KIT_STAT_LISTS; list++) {
		printer->head(now->kind->list[list].title);
		for (size_t i = 0; i < now->count; i++) {
			const struct adv_kit_stat_row *row = &now->row[i];

			if (row->list == list && adv_kit_stat_is_shown(row))
				printer->row(row, adv_kit_stat_find(last, row), seconds);
		}
	}
	printf("\n");
	fflush(stdout);
}

static bool print_json(const struct adv_kit_stat_kind *kind, const char *program,
		       char why[ADV_KIT_CONTROL_REPLY])
{
	char *text = adv_kit_stat_file_fetch(kind->control, program, why);

	if (text)
		puts(text);
	free(text);
	return text;
}

static bool print_intervals(const struct adv_kit_stat_kind *kind,
			    const struct adv_kit_stat_options *o, const char *program,
			    const struct adv_kit_stat_printer *printer,
			    char why[ADV_KIT_CONTROL_REPLY])
{
	const struct timespec pause = {.tv_sec = (time_t)o->seconds};
	struct adv_kit_stat last, now;
	bool ok = adv_kit_stat_read(kind, program, &last, why);

	for (uint64_t i = 0; ok && i < o->count; i++) {
		nanosleep(&pause, NULL);
		ok = adv_kit_stat_read(kind, program, &now, why);
		if (!ok)
			break;
		print_rates(&now, &last, printer);
		adv_kit_stat_free(&last);
		last = now;
	}
	adv_kit_stat_free(&last);
	return ok;
}

int adv_kit_stat_show(const struct adv_kit_stat_kind *kind, const struct adv_kit_stat_options *o,
		      const char *program, const struct adv_kit_stat_printer *printer)
{
	char why[ADV_KIT_CONTROL_REPLY];

	if (o->json ? print_json(kind, program, why)
		    : print_intervals(kind, o, program, printer, why))
		return EXIT_SUCCESS;
	fprintf(stderr, "%s\n", why);
	return EXIT_FAILURE;
}
