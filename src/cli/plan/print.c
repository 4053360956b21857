/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/plan/plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#define WIDTH 100

void adv_planner_begin(struct adv_plan_out *out, const char *planner, bool json)
{
	memset(out, 0, sizeof(*out));
	if (!json)
		return;
	out->json = adv_json_object();
	adv_json_add_text(out->json, "planner", planner);
}

void adv_planner_head(struct adv_plan_out *out, const char *text)
{
	if (out->json)
		return;
	printf("%s%s\n", out->some ? "\n" : "", text);
	out->some = true;
}

/* Prints the words of text within WIDTH columns; all lines except the first begin with `indent`
 * blanks. */
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

static void add_json_value(struct json_object *to, const char *key, enum adv_unit unit,
			   uint64_t value, const char *source, const char *formula)
{
	struct json_object *o = adv_json_add_object(to, key);

	adv_json_add(o, "value",
		     unit == ADV_UNIT_RATIO ? adv_json_ratio(value) : adv_json_number(value));
	if (*unit_names[unit])
		adv_json_add_text(o, "unit", unit_names[unit]);
	if (formula)
		adv_json_add_text(o, "formula", formula);
	if (source)
		adv_json_add_text(o, "source", source);
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

void adv_planner_value(struct adv_plan_out *out, const char *key, const char *label,
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
		add_json_value(out->json, key, unit, value, source, text);
	} else {
		print_text_value(label, unit, value, source, text);
		out->some = true;
	}
	free(text);
}

void adv_planner_note(struct adv_plan_out *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (out->notes < ADV_PLAN_NOTES && vasprintf(&out->note[out->notes], format, args) >= 0)
		out->notes++;
	va_end(args);
}

static void print_notes(const struct adv_plan_out *out)
{
	struct json_object *notes = out->json ? adv_json_add_array(out->json, "notes") : NULL;

	if (!notes && out->notes)
		putchar('\n');
	for (unsigned i = 0; i < out->notes; i++) {
		if (notes) {
			adv_json_append(notes, adv_json_text(out->note[i]));
		} else {
			printf("* ");
			print_wrapped(out->note[i], 2);
		}
	}
}

int adv_planner_end(struct adv_plan_out *out, bool good)
{
	print_notes(out);
	for (unsigned i = 0; i < out->notes; i++)
		free(out->note[i]);
	if (out->json)
		adv_json_print(stdout, out->json);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return good ? 0 : ADV_EXIT_FAILED;
	fprintf(stderr, "adverb plan: the result cannot be written: %m\n");
	return ADV_EXIT_FAILED;
}
