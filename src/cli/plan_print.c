/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#define WIDTH 100

uint64_t adv_plan_quantity(struct argp_state *state, const char *option, enum adv_unit unit,
			   const char *arg)
{
	char why[ADV_UNITS_WHY];
	uint64_t value = 0;

	if (!adv_units_parse(unit, arg, strlen(arg), &value, why))
		argp_error(state, "%s: %s", option, why);
	return value;
}

uint64_t adv_plan_count(struct argp_state *state, const char *option, const char *arg,
			uint64_t least, uint64_t most)
{
	uint64_t value = adv_plan_quantity(state, option, ADV_UNIT_COUNT, arg);

	if (value < least || value > most)
		argp_error(state, "%s: %s is not from %" PRIu64 " to %" PRIu64, option, arg, least,
			   most);
	return value;
}

void adv_plan_begin(struct adv_plan_out *out, const char *planner, bool json)
{
	memset(out, 0, sizeof(*out));
	out->json = json;
	if (!json)
		return;
	adv_plan_json_key(out, "planner");
	adv_print_json_string(stdout, planner);
}

void adv_plan_json_key(struct adv_plan_out *out, const char *key)
{
	printf("%s\"%s\": ", out->some ? ",\n  " : "{\n  ", key);
	out->some = true;
}

void adv_plan_head(struct adv_plan_out *out, const char *text)
{
	if (out->json)
		return;
	printf("%s%s\n", out->some ? "\n" : "", text);
	out->some = true;
}

/* Words of text within WIDTH columns; lines but the first begin with `indent` blanks. */
static void print_wrapped(const char *text, unsigned indent)
{
	size_t column = indent;

	for (const char *p = text; *p;) {
		size_t word = strcspn(p, " ");

		if (p != text && column + 1 + word > WIDTH) {
			printf("\n%*s", (int)indent, "");
			column = indent;
		} else if (p != text) {
			putchar(' ');
			column++;
		}
		printf("%.*s", (int)word, p);
		column += word;
		p += word;
		p += *p == ' ';
	}
	putchar('\n');
}

static const char *const unit_names[] = {"B", "b/s", "ps", "mm", "", ""};

static void print_json_value(enum adv_unit unit, uint64_t value, const char *source,
			     const char *formula)
{
	if (unit == ADV_UNIT_RATIO)
		printf("{\"value\": %" PRIu64 ".%09" PRIu64, value / ADV_RATIO_ONE,
		       value % ADV_RATIO_ONE);
	else
		printf("{\"value\": %" PRIu64, value);
	if (*unit_names[unit])
		printf(", \"unit\": \"%s\"", unit_names[unit]);
	if (formula) {
		printf(", \"formula\": ");
		adv_print_json_string(stdout, formula);
	}
	if (source) {
		printf(", \"source\": ");
		adv_print_json_string(stdout, source);
	}
	putchar('}');
}

static void print_text_value(const char *label, enum adv_unit unit, uint64_t value,
			     const char *source, const char *formula)
{
	char text[ADV_UNITS_TEXT];

	printf("  %-34s %12s", label, adv_units_print(unit, value, text));
	if (unit == ADV_UNIT_BYTES && value >= 10000)
		printf("  (%" PRIu64 " B)", value);
	putchar('\n');
	if (formula) {
		printf("      = ");
		print_wrapped(formula, 8);
	}
	if (source) {
		printf("      source: ");
		print_wrapped(source, 14);
	}
}

void adv_plan_value(struct adv_plan_out *out, const char *key, const char *label,
		    enum adv_unit unit, uint64_t value, const char *source, const char *formula,
		    ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, formula);
	if (formula && vasprintf(&text, formula, args) < 0)
		text = NULL;
	va_end(args);
	if (out->json) {
		adv_plan_json_key(out, key);
		print_json_value(unit, value, source, text);
	} else {
		print_text_value(label, unit, value, source, text);
		out->some = true;
	}
	free(text);
}

void adv_plan_note(struct adv_plan_out *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (out->notes < ADV_PLAN_NOTES && vasprintf(&out->note[out->notes], format, args) >= 0)
		out->notes++;
	va_end(args);
}

int adv_plan_end(struct adv_plan_out *out, bool good)
{
	if (out->json) {
		adv_plan_json_key(out, "notes");
		putchar('[');
	} else if (out->notes) {
		putchar('\n');
	}
	for (unsigned i = 0; i < out->notes; i++) {
		if (out->json) {
			printf("%s", i ? ", " : "");
			adv_print_json_string(stdout, out->note[i]);
		} else {
			printf("* ");
			print_wrapped(out->note[i], 2);
		}
		free(out->note[i]);
	}
	if (out->json)
		printf("]\n}\n");
	if (fflush(stdout) == 0 && !ferror(stdout))
		return good ? 0 : ADV_EXIT_FAILED;
	fprintf(stderr, "adverb plan: the result cannot be written: %m\n");
	return ADV_EXIT_FAILED;
}
