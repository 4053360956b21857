/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/check/report.h"

#include <inttypes.h>
#include <string.h>

#include "abi/check/rules.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Finds the functions and lines of all frames. */
static void find_symbols(struct adv_symbols *symbols, const struct adv_check_message *m,
			 struct adv_check_shown *shown)
{
	memset(shown, 0, sizeof(*shown));
	shown->message = m;
	for (unsigned s = 0; s < m->stacks; s++) {
		unsigned n = 0;

		for (unsigned i = 0; i < m->stack[s].frames && n < ADV_CHECK_LEVELS; i++) {
			const struct adv_check_frame *f = &m->stack[s].frame[i];
			const char *module =
				f->module == ADV_CHECK_NO_MODULE ? NULL : m->module[f->module];
			unsigned more = 1;

			if (module)
				more = adv_symbols_find(symbols, module, f->address,
							&shown->stack[s].level[n],
							ADV_CHECK_LEVELS - n);
			for (; more > 0; more--, n++) {
				shown->stack[s].module[n] = module;
				shown->stack[s].address[n] = f->address;
			}
		}
		shown->stack[s].levels = n;
	}
}

/* ---- text ---- */

static void print_stack(FILE *out, const struct adv_check_shown *shown, unsigned s)
{
	for (unsigned i = 0; i < shown->stack[s].levels; i++) {
		const struct adv_symbol *l = &shown->stack[s].level[i];
		const char *module = shown->stack[s].module[i];

		fprintf(out, "    #%u ", i);
		if (!module)
			fprintf(out, "0x%" PRIx64 "\n", shown->stack[s].address[i]);
		else if (l->file && l->line)
			fprintf(out, "%s at %s:%d\n", l->function ? l->function : "?", l->file,
				l->line);
		else if (l->function)
			fprintf(out, "%s+0x%" PRIx64 " in %s\n", l->function, l->offset, module);
		else
			fprintf(out, "%s+0x%" PRIx64 "\n", module, shown->stack[s].address[i]);
	}
}

/* Prints a paragraph with a label before it, in lines of about 96 columns. */
static void print_paragraph(FILE *out, const char *label, const char *text)
{
	const int width = 84;

	fprintf(out, "  %-10s", label);
	while ((int)strlen(text) > width) {
		int end = width;

		while (end > 0 && text[end] != ' ')
			end--;
		if (end == 0)
			break;
		fprintf(out, "%.*s\n  %-10s", end, text, "");
		text += end + 1;
	}
	fprintf(out, "%s\n", text);
}

static void print_lines(FILE *out, const struct adv_check_shown *shown)
{
	const struct adv_check_message *m = shown->message;
	const struct adv_check_rule_text *rule = &adv_check_rules[m->rule];

	fprintf(out, "adverb check: %s: %s\n", rule->name, rule->title);
	fprintf(out, "  process %d (%s), thread %d\n", m->pid, m->program, m->tid);
	fprintf(out, "  %s\n", m->what);
	for (unsigned s = 0; s < m->stacks; s++) {
		if (*m->stack[s].title)
			fprintf(out, "  %s:\n", m->stack[s].title);
		print_stack(out, shown, s);
	}
	if (*m->history)
		print_paragraph(out, "history", m->history);
	print_paragraph(out, "why", rule->why);
	print_paragraph(out, "source", rule->source);
	print_paragraph(out, "hardware", rule->hardware);
	print_paragraph(out, "remedy", rule->remedy);
	fprintf(out, "  more      " ADV_DOC_DIR "/check.md#%s\n\n", rule->name);
}

/* Prints a finding with one write, so that no output of the checked program is within it. */
static void print_finding(FILE *out, const struct adv_check_shown *shown)
{
	char *text = NULL;
	size_t len = 0;
	FILE *memory = open_memstream(&text, &len);

	print_lines(memory ? memory : out, shown);
	if (memory && fclose(memory) == 0)
		fwrite(text, 1, len, out);
	free(text);
	fflush(out);
}

/* ---- JSON ---- */

static void add_level(struct json_object *frames, const struct adv_check_shown *shown, unsigned s,
		      unsigned i)
{
	const struct adv_symbol *l = &shown->stack[s].level[i];
	struct json_object *o = adv_json_object();
	char address[24];

	snprintf(address, sizeof(address), "0x%" PRIx64, shown->stack[s].address[i]);
	if (l->function)
		adv_json_add_text(o, "function", l->function);
	if (l->file)
		adv_json_add_text(o, "file", l->file);
	if (l->line)
		adv_json_add_number(o, "line", (uint64_t)l->line);
	if (shown->stack[s].module[i])
		adv_json_add_text(o, "module", shown->stack[s].module[i]);
	adv_json_add_text(o, "address", address);
	adv_json_append(frames, o);
}

static void add_to_json(struct json_object *findings, const struct adv_check_shown *shown)
{
	const struct adv_check_message *m = shown->message;
	const struct adv_check_rule_text *rule = &adv_check_rules[m->rule];
	struct json_object *o = adv_json_object(), *stacks;

	adv_json_add_text(o, "rule", rule->name);
	adv_json_add_text(o, "severity", adv_check_severity_name(m->rule));
	adv_json_add_text(o, "title", rule->title);
	adv_json_add_text(o, "what", m->what);
	adv_json_add_number(o, "pid", (uint64_t)m->pid);
	adv_json_add_number(o, "tid", (uint64_t)m->tid);
	adv_json_add_text(o, "program", m->program);
	stacks = adv_json_add_array(o, "stacks");
	for (unsigned s = 0; s < m->stacks; s++) {
		struct json_object *stack = adv_json_object(), *frames;

		adv_json_add_text(stack, "title",
				  *m->stack[s].title ? m->stack[s].title : "the fault");
		frames = adv_json_add_array(stack, "frames");
		for (unsigned i = 0; i < shown->stack[s].levels; i++)
			add_level(frames, shown, s, i);
		adv_json_append(stacks, stack);
	}
	adv_json_add_text(o, "history", m->history);
	adv_json_add_text(o, "why", rule->why);
	adv_json_add_text(o, "source", rule->source);
	adv_json_add_text(o, "hardware", rule->hardware);
	adv_json_add_text(o, "remedy", rule->remedy);
	adv_json_append(findings, o);
}

/* ---- suppressions ---- */

static bool is_suppressed(const struct adv_suppressions *suppressions,
			  const struct adv_check_shown *shown)
{
	const char *rule = adv_check_rules[shown->message->rule].name;

	if (adv_suppressions_match(suppressions, rule, shown->message->program))
		return true;
	for (unsigned s = 0; s < shown->message->stacks; s++) {
		for (unsigned i = 0; i < shown->stack[s].levels; i++) {
			const struct adv_symbol *l = &shown->stack[s].level[i];
			const char *module = shown->stack[s].module[i];

			if ((l->function &&
			     adv_suppressions_match(suppressions, rule, l->function)) ||
			    (l->file &&
			     adv_suppressions_match(suppressions, rule, base_name(l->file))) ||
			    (module &&
			     adv_suppressions_match(suppressions, rule, base_name(module))))
				return true;
		}
	}
	return false;
}

void adv_check_report_add(struct adv_check_report *r, const struct adv_check_message *m)
{
	static struct adv_check_shown shown; /* too large for the stack */

	if (!r->advice && adv_check_severity_of(m->rule) == ADV_CHECK_ADVICE)
		return;
	find_symbols(r->symbols, m, &shown);
	if (is_suppressed(r->suppressions, &shown)) {
		r->suppressed++;
		return;
	}
	r->findings++;
	r->leaks += adv_check_severity_of(m->rule) == ADV_CHECK_LEAK;
	print_finding(r->out, &shown);
	if (r->json)
		add_to_json(r->json, &shown);
}
