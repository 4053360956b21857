/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_KEY 256 /* argp key of the first option without a letter */

/* Returns the option with this number, of all that `more` links; NULL: there are fewer. */
static const struct adv_option *option_at(const struct adv_options *o, unsigned i)
{
	while (o && i >= o->count) {
		i -= o->count;
		o = o->more;
	}
	return o ? &o->option[i] : NULL;
}

uint64_t adv_option_quantity(struct argp_state *state, const char *option, enum adv_unit unit,
			     const char *arg)
{
	char why[ADV_UNITS_WHY];
	uint64_t value = 0;

	if (!adv_units_parse(unit, arg, strlen(arg), &value, why))
		argp_error(state, "%s: %s", option, why);
	return value;
}

uint32_t adv_option_number(struct argp_state *state, const char *option, const char *arg)
{
	char *end;
	bool hexadecimal = arg[0] == '0' && (arg[1] == 'x' || arg[1] == 'X');
	unsigned long n = strtoul(arg, &end, hexadecimal ? 16 : 10);

	if (end == arg || *end || arg[0] == '-' || n == 0 || n > INT32_MAX)
		argp_error(state, "%s: '%s' is not a number from 1", option, arg);
	return (uint32_t)n;
}

uint64_t adv_option_plain(struct argp_state *state, const char *option, enum adv_unit unit,
			  const char *arg, uint64_t least, uint64_t most)
{
	char why[ADV_UNITS_WHY], low[ADV_UNITS_TEXT], high[ADV_UNITS_TEXT];
	uint64_t value = 0;

	if (!adv_units_parse_plain(unit, arg, strlen(arg), &value, why))
		argp_error(state, "%s: %s", option, why);
	if (value < least || value > most)
		argp_error(state, "%s: '%s' is not from %s to %s", option, arg,
			   adv_units_exact(unit, least, low), adv_units_exact(unit, most, high));
	return value;
}

static void check_range(struct argp_state *state, const struct adv_option *o, const char *option,
			const char *arg, uint64_t value)
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

static void store_number(const struct adv_option *o, void *into, uint64_t value)
{
	if (o->size == sizeof(uint16_t))
		*(uint16_t *)into = (uint16_t)value;
	else if (o->size == sizeof(uint32_t))
		*(uint32_t *)into = (uint32_t)value;
	else
		*(uint64_t *)into = value;
}

static void read_option(struct argp_state *state, const struct adv_option *o, char *arg)
{
	struct adv_options_parser *p = state->input;
	char *into = (char *)p->values + o->into;
	char option[40];
	uint64_t value;

	snprintf(option, sizeof(option), "--%s", o->name);
	if (o->read) {
		o->read(state, option, arg, p->values);
	} else if (!o->arg) {
		*(bool *)into = true;
	} else if (o->value == ADV_VALUE_TEXT) {
		*(const char **)into = arg;
	} else if (o->value == ADV_VALUE_NUMBER) {
		store_number(o, into, adv_option_number(state, option, arg));
	} else if (o->value == ADV_VALUE_PLAIN) {
		value = adv_option_plain(state, option, o->unit, arg, o->least, o->most);
		store_number(o, into, value);
	} else {
		value = adv_option_quantity(state, option, o->unit, arg);
		check_range(state, o, option, arg, value);
		store_number(o, into, value);
	}
}

/* If needed options are missing, prints an error such as "--buffer, --ports and --speed are
 * needed" and exits. */
static void check_needed(struct argp_state *state)
{
	const struct adv_options_parser *p = state->input;
	const struct adv_option *o;
	unsigned needed = 0, missing = 0, said = 0;
	char list[200] = "";

	for (unsigned i = 0; (o = option_at(p->options, i)); i++) {
		needed += o->needed;
		missing += o->needed && !(p->given & (1u << i));
	}
	if (!missing)
		return;
	for (unsigned i = 0; (o = option_at(p->options, i)); i++) {
		if (!o->needed)
			continue;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s--%s",
			 said == 0	      ? ""
			 : said + 1 == needed ? " and "
					      : ", ",
			 o->name);
		said++;
	}
	argp_error(state, "%s %s needed", list, needed == 1 ? "is" : "are");
}

/* Calls the checks, those of further options first. */
static void check_all(struct argp_state *state, const struct adv_options *o)
{
	const struct adv_options_parser *p = state->input;

	if (o->more)
		check_all(state, o->more);
	if (o->check)
		o->check(state, p->values);
}

static int key_of(const struct adv_option *o, unsigned i)
{
	return o->letter ? o->letter : FIRST_KEY + (int)i;
}

static void read_argument(struct argp_state *state, const char *arg)
{
	struct adv_options_parser *p = state->input;
	const struct adv_options *o = p->options;
	char *member = (char *)p->values + o->file;

	if (o->read) {
		o->read(state, arg, p->values);
	} else if (o->rest) {
		*(char ***)member = &state->argv[state->next - 1];
		state->next = state->argc;
	} else {
		if (!o->args || *(const char **)member)
			argp_error(state, "unexpected argument '%s'", arg);
		*(const char **)member = arg;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct adv_options_parser *p = state->input;
	const struct adv_option *o;

	for (unsigned i = 0; (o = option_at(p->options, i)); i++)
		if (key == key_of(o, i)) {
			read_option(state, o, arg);
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
		check_all(state, p->options);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void adv_options_prepare(struct adv_options_parser *p, const struct adv_options *o, void *values,
			 bool *json)
{
	const struct adv_option *option;
	unsigned n = 0;

	*p = (struct adv_options_parser){.options = o, .values = values, .json = json};
	if (o->defaults)
		memcpy(values, o->defaults, o->size);
	for (; (option = option_at(o, n)); n++)
		p->option[n] = (struct argp_option){.name = option->name,
						    .key = key_of(option, n),
						    .arg = option->arg,
						    .doc = option->help};
	if (json) {
		*json = false;
		p->option[n] =
			(struct argp_option){.name = "json", .key = 'j', .doc = "Write JSON"};
	}
	/* glibc's argp leaks memory for an empty table. */
	p->argp = (struct argp){.options = p->option->key ? p->option : NULL,
				.parser = parse_option,
				.args_doc = o->args,
				.doc = o->about};
}

void adv_options_parse(const struct adv_options *o, int argc, char **argv, void *values)
{
	struct adv_options_parser p;

	adv_options_prepare(&p, o, values, NULL);
	argp_parse(&p.argp, argc, argv, o->rest ? ARGP_IN_ORDER : 0, NULL, &p);
}
