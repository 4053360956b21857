/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb completion: writes the completions of bash, zsh or fish from the argp tables of all
 * commands. */
#include "cli/command/command.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

/* What a command takes after its options. */
enum words { WORDS_NONE, WORDS_FILES, WORDS_PROGRAM };

struct shell {
	const char *name;
	void (*write)(void);
};

static enum words words_of(const char *args_doc)
{
	if (args_doc && strstr(args_doc, "PROGRAM"))
		return WORDS_PROGRAM;
	return args_doc && strstr(args_doc, "FILE") ? WORDS_FILES : WORDS_NONE;
}

/* True if the value of an option is a file or a folder. */
static bool takes_file(const struct argp_option *o)
{
	static const char *const files[] = {"FILE", "FOLDER", "PAGE", "PATH"};

	for (size_t i = 0; o->arg && i < sizeof(files) / sizeof(files[0]); i++)
		if (strcmp(o->arg, files[i]) == 0)
			return true;
	return false;
}

static bool is_shown(const struct argp_option *o)
{
	return o->name && !(o->flags & OPTION_HIDDEN);
}

static bool is_last(const struct argp_option *o)
{
	return !o || (!o->name && !o->key && !o->doc && !o->group);
}

static bool has_letter(const struct argp_option *o)
{
	return o->key > ' ' && o->key < 127;
}

/* Calls fn for each option that help shows, also for those of the children. */
static void for_each_option(const struct argp *argp,
			    void (*fn)(const struct argp_option *o, const char *name),
			    const char *name)
{
	for (const struct argp_option *o = argp->options; !is_last(o); o++) {
		if (is_shown(o))
			fn(o, name);
	}
	for (const struct argp_child *c = argp->children; c && c->argp; c++)
		for_each_option(c->argp, fn, name);
}

/* Writes a text, with `before` in front of each character that is in `special`. */
static void print_escaped(const char *text, const char *special, const char *before)
{
	for (; *text; text++) {
		if (strchr(special, *text))
			fputs(before, stdout);
		putchar(*text);
	}
}

/* Writes a text inside single quotes of bash and zsh. */
static void print_quoted(const char *text)
{
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
}

/* Writes the words that a command takes literally: those of args_doc in lower case, such as "show"
 * of "show\nset PLAN". Each has `before` in front of it. */
static void print_literal_words(const char *args_doc, const char *before)
{
	static const char lower[] = "abcdefghijklmnopqrstuvwxyz-";
	static const char ends[] = " \n|[]";

	for (const char *p = args_doc ? args_doc : ""; *p;) {
		size_t len = strcspn(p, ends);

		if (len && strspn(p, lower) >= len && *p != '-')
			printf("%s%.*s", before, (int)len, p);
		p += len + strspn(p + len, ends);
	}
}

/* ---- bash ---- */

static void bash_group(void *user, const char *name, const struct adv_command_group *g)
{
	printf("\t'%s')\n\t\twords='", name);
	for (const struct adv_command *c = g->commands; c->name; c++)
		printf("%s ", c->name);
	printf("help --help --usage --version'\n\t\tgroup=yes ;;\n");
}

static void bash_option(const struct argp_option *o, const char *name)
{
	printf("--%s%s ", o->name, o->arg ? "=" : "");
}

static void bash_command(void *user, const char *name, const struct argp *argp)
{
	static const char *const kinds[] = {"", "files", "program"};

	printf("\t'%s')\n\t\twords='", name);
	for_each_option(argp, bash_option, name);
	printf("--help --usage --version");
	print_literal_words(argp->args_doc, " ");
	printf("'\n\t\trest=%s ;;\n", kinds[words_of(argp->args_doc)]);
}

static const char bash_begin[] =
	"# bash completion for adverb(1), written by: adverb completion bash\n"
	"\n"
	"# Sets words, group and rest for the command $1.\n"
	"_adverb_words()\n"
	"{\n"
	"\twords='' group='' rest=''\n"
	"\tcase $1 in\n";

static const char bash_end[] =
	"\tesac\n"
	"}\n"
	"\n"
	"_adverb()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} name=adverb i words group rest\n"
	"\n"
	"\t_adverb_words \"$name\"\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\tif [[ $group && \" $words \" == *\" ${COMP_WORDS[i]} \"* ]]; then\n"
	"\t\t\t[[ ${COMP_WORDS[i]} == help ]] || name+=\" ${COMP_WORDS[i]}\"\n"
	"\t\t\t_adverb_words \"$name\"\n"
	"\t\telif [[ $rest == program && ${COMP_WORDS[i]} != -* && ${COMP_WORDS[i]} != = &&\n"
	"\t\t\t${COMP_WORDS[i - 1]} != = ]]; then\n"
	"\t\t\tdeclare -F _command_offset >/dev/null && _command_offset \"$i\"\n"
	"\t\t\treturn\n"
	"\t\tfi\n"
	"\tdone\n"
	"\tif [[ $cur == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -f -- \"${cur#=}\")\n"
	"\telif [[ $cur == -* || $group || ! $rest ]]; then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	"\t\tif [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then\n"
	"\t\t\tcompopt -o nospace 2>/dev/null\n"
	"\t\tfi\n"
	"\telif [[ $rest == program ]]; then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	"\telse\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"\tfi\n"
	"}\n"
	"complete -F _adverb adverb\n";

static void write_bash(void)
{
	const struct adv_command_visitor visitor = {bash_group, bash_command, NULL};

	fputs(bash_begin, stdout);
	adv_command_describe(&visitor);
	fputs(bash_end, stdout);
}

/* ---- zsh ---- */

static void zsh_group(void *user, const char *name, const struct adv_command_group *g)
{
	printf("\t'%s')\n\t\tlist=(\n", name);
	for (const struct adv_command *c = g->commands; c->name; c++) {
		printf("\t\t\t'%s:", c->name);
		print_quoted(c->summary);
		printf("'\n");
	}
	printf("\t\t\t'help:Describe a command'\n\t\t)\n"
	       "\t\t_describe command list\n\t\t_arguments '--help' '--usage' '--version' ;;\n");
}

static void zsh_option(const struct argp_option *o, const char *name)
{
	if (has_letter(o))
		printf("\t\t\t'(-%c --%s)'{-%c%s,--%s%s}'[", o->key, o->name, o->key,
		       o->arg ? "+" : "", o->name, o->arg ? "=" : "");
	else
		printf("\t\t\t'--%s%s[", o->name, o->arg ? "=" : "");
	for (const char *p = o->doc ? o->doc : ""; *p; p++) {
		if (strchr("[]\\", *p))
			putchar('\\');
		printf(*p == '\'' ? "'\\''" : "%c", *p);
	}
	printf("]");
	if (o->arg)
		printf(":%s:%s", o->arg, takes_file(o) ? "_files" : "");
	printf("' \\\n");
}

static void zsh_command(void *user, const char *name, const struct argp *argp)
{
	enum words words = words_of(argp->args_doc);

	printf("\t'%s')\n\t\t_arguments -s \\\n", name);
	for_each_option(argp, zsh_option, name);
	printf("\t\t\t'--help[Describe the command]' \\\n\t\t\t'--usage[List the options]'");
	if (words == WORDS_PROGRAM)
		printf(" \\\n\t\t\t'(-):program:_command_names -e' \\\n"
		       "\t\t\t'*::argument:_normal'");
	else if (words == WORDS_FILES)
		printf(" \\\n\t\t\t'*:file:_files'");
	else {
		printf(" \\\n\t\t\t'*:word:(");
		print_literal_words(argp->args_doc, " ");
		printf(")'");
	}
	printf(" ;;\n");
}

static const char zsh_begin[] =
	"#compdef adverb\n"
	"# zsh completion for adverb(1), written by: adverb completion zsh\n"
	"\n"
	"_adverb()\n"
	"{\n"
	"\tlocal name=adverb\n"
	"\tlocal -a list\n"
	"\n"
	"\t# The words of the command, then its arguments: _arguments counts from the command's "
	"last word.\n"
	"\twhile (( CURRENT > 2 )) && (( ${_adverb_names[(Ie)$name $words[2]]} )); do\n"
	"\t\tname+=\" $words[2]\"\n"
	"\t\tshift words\n"
	"\t\t(( CURRENT-- ))\n"
	"\tdone\n"
	"\tcase $name in\n";

static void zsh_name_of_group(void *user, const char *name, const struct adv_command_group *g)
{
	if (strchr(name, ' '))
		printf("\t'%s'\n", name);
}

static void zsh_name_of_command(void *user, const char *name, const struct argp *argp)
{
	printf("\t'%s'\n", name);
}

static void write_zsh(void)
{
	const struct adv_command_visitor visitor = {zsh_group, zsh_command, NULL};
	const struct adv_command_visitor names = {zsh_name_of_group, zsh_name_of_command, NULL};

	fputs(zsh_begin, stdout);
	adv_command_describe(&visitor);
	printf("\tesac\n}\n\ntypeset -ga _adverb_names=(\n");
	adv_command_describe(&names);
	printf(")\n_adverb \"$@\"\n");
}

/* ---- fish ---- */

/* Writes the condition that the command line has the words of `name` after "adverb". */
static void fish_condition(const char *name)
{
	const char *words = strchr(name, ' ');

	if (!words) {
		printf(" -n __fish_use_subcommand");
		return;
	}
	printf(" -n '");
	for (const char *word = words + 1; word; word = words ? words + 1 : NULL) {
		words = strchr(word, ' ');
		printf("%s__fish_seen_subcommand_from %.*s",
		       word == strchr(name, ' ') + 1 ? "" : "; and ",
		       words ? (int)(words - word) : (int)strlen(word), word);
	}
}

static void fish_description(const char *text)
{
	printf(" -d '");
	print_escaped(text ? text : "", "'\\", "\\");
	printf("'\n");
}

static void fish_group(void *user, const char *name, const struct adv_command_group *g)
{
	for (const struct adv_command *c = g->commands; c->name; c++) {
		printf("complete -c adverb");
		fish_condition(name);
		if (strchr(name, ' ')) {
			printf("; and not __fish_seen_subcommand_from");
			for (const struct adv_command *o = g->commands; o->name; o++)
				printf(" %s", o->name);
			printf("'");
		}
		printf(" -a %s", c->name);
		fish_description(c->summary);
	}
}

static void fish_option(const struct argp_option *o, const char *name)
{
	printf("complete -c adverb");
	fish_condition(name);
	printf("' -l %s", o->name);
	if (has_letter(o))
		printf(" -s %c", o->key);
	if (o->arg)
		printf(takes_file(o) ? " -rF" : " -x");
	fish_description(o->doc);
}

static void fish_command(void *user, const char *name, const struct argp *argp)
{
	static const char *const kinds[] = {NULL, " -F\n", " -xa '(__fish_complete_subcommand)'\n"};
	const char *kind = kinds[words_of(argp->args_doc)];

	for_each_option(argp, fish_option, name);
	printf("complete -c adverb");
	fish_condition(name);
	printf("' -a '");
	print_literal_words(argp->args_doc, " ");
	printf("'\n");
	if (kind) {
		printf("complete -c adverb");
		fish_condition(name);
		printf("'%s", kind);
	}
}

static const char fish_begin[] =
	"# fish completion for adverb(1), written by: adverb completion fish\n"
	"complete -c adverb -f\n"
	"complete -c adverb -l help -d 'Describe the command'\n"
	"complete -c adverb -l usage -d 'List the options'\n"
	"complete -c adverb -l version -d 'Print the version'\n"
	"complete -c adverb -n __fish_use_subcommand -a help -d 'Describe a command'\n";

static void write_fish(void)
{
	const struct adv_command_visitor visitor = {fish_group, fish_command, NULL};

	fputs(fish_begin, stdout);
	adv_command_describe(&visitor);
}

/* ---- the command ---- */

static const struct shell shells[] = {
	{"bash", write_bash},
	{"zsh", write_zsh},
	{"fish", write_fish},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	const struct shell **shell = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
			if (strcmp(arg, shells[i].name) == 0 && !*shell) {
				*shell = &shells[i];
				return 0;
			}
		argp_error(state, "'%s' is not one of bash, zsh and fish", arg);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "a shell is needed: bash, zsh or fish");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	NULL,
	parse_option,
	"bash|zsh|fish",
	"Write the completions of a shell for adverb. The package installs them.\v"
	"Examples:\n"
	"  source <(adverb completion bash)\n"
	"  adverb completion fish > ~/.config/fish/completions/adverb.fish",
	NULL,
	NULL,
	NULL};

int adv_completion_main(int argc, char **argv)
{
	const struct shell *shell = NULL;

	if (adv_command_parse(&argp, argc, argv, 0, &shell) != 0)
		return ADV_EXIT_USAGE;
	shell->write();
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : ADV_EXIT_FAILED;
}
