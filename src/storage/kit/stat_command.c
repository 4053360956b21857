/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/kit/stat_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "storage/kit/option_number.h"
#include "storage/kit/stat_file.h"

error_t adv_kit_stat_parse(int key, char *arg, struct argp_state *state)
{
	struct adv_kit_stat_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		*o = (struct adv_kit_stat_options){NULL, 1, 1, false};
		return 0;
	case ADV_KIT_STAT_CONTROL:
		o->control = arg;
		return 0;
	case 'i':
		o->seconds = adv_kit_option_number(state, ADV_UNIT_COUNT, arg, 1, 86400);
		return 0;
	case 'n':
		o->count = adv_kit_option_number(state, ADV_UNIT_COUNT, arg, 1, UINT32_MAX);
		return 0;
	case 'o':
		o->json = adv_kit_option_json(state, arg);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
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
