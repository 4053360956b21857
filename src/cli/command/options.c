/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/command/options.h"

#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"

#define FIRST_KEY 256 /* argp key of the first option without a letter */

struct parse {
	const struct adv_command_syntax *syntax;
	void *options;
	bool *json;
	uint32_t given; /* options that were given, a bit each */
};

uint64_t adv_command_quantity(struct argp_state *state, const char *option, enum adv_unit unit,
			      const char *arg)
{
	char why[ADV_UNITS_WHY];
	uint64_t value = 0;

	if (!adv_units_parse(unit, arg, strlen(arg), &value, why))
		argp_error(state, "%s: %s", option, why);
	return value;
}

static void check_range(struct argp_state *state, const struct adv_command_option *o,
			const char *option, const char *arg, uint64_t value)
{
	char least[ADV_UNITS_TEXT], most[ADV_UNITS_TEXT];
	bool below = value < o->least, above = o->most && value > o->most;

	adv_units_print(o->unit, o->least, least);
	adv_units_print(o->unit, o->most, most);
	if (o->unit == ADV_UNIT_COUNT && (below || above))
		argp_error(state, "%s: %s is not from %s to %s", option, arg, least, most);
	else if (below && o->least == 1)
		argp_error(state, "%s: %s is not above 0", option, arg);
	else if (below)
		argp_error(state, "%s: %s is less than %s", option, arg, least);
	else if (above)
		argp_error(state, "%s: %s is more than %s", option, arg, most);
}

static void read_option(struct argp_state *state, const struct adv_command_option *o, char *arg)
{
	struct parse *p = state->input;
	char *into = (char *)p->options + o->into;
	char option[40];
	uint64_t value;
	uint32_t narrow;

	snprintf(option, sizeof(option), "--%s", o->name);
	if (o->read) {
		o->read(state, option, arg, p->options);
	} else if (!o->arg) {
		*(bool *)into = true;
	} else if (o->value == ADV_VALUE_TEXT) {
		*(const char **)into = arg;
	} else if (o->value == ADV_VALUE_NUMBER) {
		*(uint32_t *)into = adv_cli_number(state, option, arg);
	} else {
		value = adv_command_quantity(state, option, o->unit, arg);
		check_range(state, o, option, arg, value);
		narrow = (uint32_t)value;
		memcpy(into, o->size == sizeof(narrow) ? (void *)&narrow : (void *)&value, o->size);
	}
}

/* If needed options are missing, prints an error such as "--buffer, --ports and --speed are
 * needed" and exits. */
static void check_needed(struct argp_state *state)
{
	const struct parse *p = state->input;
	const struct adv_command_syntax *s = p->syntax;
	unsigned needed = 0, missing = 0, said = 0;
	char list[200] = "";

	for (unsigned i = 0; i < s->count; i++) {
		needed += s->option[i].needed;
		missing += s->option[i].needed && !(p->given & (1u << i));
	}
	if (!missing)
		return;
	for (unsigned i = 0; i < s->count; i++) {
		if (!s->option[i].needed)
			continue;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s--%s",
			 said == 0	      ? ""
			 : said + 1 == needed ? " and "
					      : ", ",
			 s->option[i].name);
		said++;
	}
	argp_error(state, "%s %s needed", list, needed == 1 ? "is" : "are");
}

static int key_of(const struct adv_command_syntax *s, unsigned i)
{
	return s->option[i].letter ? s->option[i].letter : FIRST_KEY + (int)i;
}

static void read_argument(struct argp_state *state, const char *arg)
{
	struct parse *p = state->input;
	const char **file = (const char **)((char *)p->options + p->syntax->file);

	if (p->syntax->read) {
		p->syntax->read(state, arg, p->options);
		return;
	}
	if (!p->syntax->args || *file)
		argp_error(state, "unexpected argument '%s'", arg);
	*file = arg;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parse *p = state->input;
	const struct adv_command_syntax *s = p->syntax;

	for (unsigned i = 0; i < s->count; i++)
		if (key == key_of(s, i)) {
			read_option(state, &s->option[i], arg);
			p->given |= 1u << i;
			return 0;
		}
	switch (key) {
	case 'j':
		*p->json = true;
		return 0;
	case ARGP_KEY_ARG:
		read_argument(state, arg);
		return 0;
	case ARGP_KEY_END:
		check_needed(state);
		if (s->check)
			s->check(state, p->options);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

bool adv_command_read(const struct adv_command_syntax *syntax, int argc, char **argv, void *options,
		      bool *json)
{
	struct argp_option option[ADV_COMMAND_OPTIONS_MAX + 2] = {{0}};
	struct parse p = {syntax, options, json, 0};
	struct argp argp = {.options = option,
			    .parser = parse_option,
			    .args_doc = syntax->args,
			    .doc = syntax->about};
	unsigned n = syntax->count;

	for (unsigned i = 0; i < n; i++) {
		const struct adv_command_option *o = &syntax->option[i];

		option[i] = (struct argp_option){
			.name = o->name, .key = key_of(syntax, i), .arg = o->arg, .doc = o->help};
	}
	if (json) {
		*json = false;
		option[n] = (struct argp_option){.name = "json", .key = 'j', .doc = "Write JSON"};
	}
	return adv_command_parse(&argp, argc, argv, syntax->flags, &p) == 0;
}

bool adv_command_read_json(const char *about, int argc, char **argv, bool *json)
{
	const struct adv_command_syntax syntax = {.about = about};

	return adv_command_read(&syntax, argc, argv, NULL, json);
}
