/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb fabric: an emulated Ethernet for real programs. */
#include "cli/fabric/fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/fabric/call.h"

#define COMMAND_MAX (1u << 20) /* bytes of the command of `adverb fabric rsh` */

/* ---- down ---- */

static const struct adv_option down_options[] = {
	{"report", 'r', "FILE", "Write an HTML page about the run, as adverb sim --report does",
	 .value = ADV_VALUE_TEXT},
};

static const struct adv_options down_syntax = {
	ADV_OPTION_TABLE(down_options), .about = "End the emulated fabric. Its hosts lose their "
						 "network; programs on them continue without one."};

int adv_fabric_down_main(int argc, char **argv)
{
	struct adv_port_message m = {.type = ADV_PORT_DOWN};
	int fd[ADV_CALL_FDS], page = -1;
	const char *report = NULL;
	bool good;

	if (!adv_command_read(&down_syntax, argc, argv, &report, NULL))
		return ADV_EXIT_USAGE;
	if (report) {
		page = open(report, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (page < 0) {
			fprintf(stderr, "adverb fabric down: %s: %s\n", report, strerror(errno));
			return ADV_EXIT_FAILED;
		}
	}
	good = adv_call_fabric("adverb fabric down", &m, page, fd);
	if (page >= 0)
		close(page);
	return good ? 0 : ADV_EXIT_FAILED;
}

/* ---- cable ---- */

struct change {
	const char *cable;
	const char *what;
};

static void read_change(struct argp_state *state, const char *arg, void *options)
{
	struct change *c = options;

	if (c->what)
		argp_error(state, "unexpected argument '%s'", arg);
	*(c->cable ? &c->what : &c->cable) = arg;
}

static void check_change(struct argp_state *state, void *options)
{
	const struct change *c = options;

	if (!c->what)
		argp_error(state, "expected CABLE and up, down or rules such as loss=1%%");
}

static const struct adv_options cable_syntax = {
	.about = "Change a cable of the running fabric, in both directions. RULES are "
		 "loss=PERCENT%, corrupt=PERCENT% and delay=TIME, between semicolons, in place of "
		 "all earlier ones. A cable is h3, that of a host, or s1:4, that at a port of a "
		 "switch. Routes stay as they are.",
	.check = check_change,
	.args = "CABLE up|down|RULES",
	.read = read_change};

int adv_fabric_cable_main(int argc, char **argv)
{
	struct change c = {.cable = NULL};

	if (!adv_command_read(&cable_syntax, argc, argv, &c, NULL))
		return ADV_EXIT_USAGE;
	return adv_call_change_cable("adverb fabric cable", c.cable, c.what) ? 0 : ADV_EXIT_FAILED;
}

/* ---- rsh ---- */

static void check_words(struct argp_state *state, void *options)
{
	char **words = *(char ***)options;

	if (!words || !words[0] || !words[1])
		argp_error(state, "expected HOST COMMAND");
}

static const struct adv_options rsh_syntax = {
	.about = "Run a command by a shell on a host of the fabric, as rsh(1) does: for launchers "
		 "such as mpirun (--mca plm_rsh_agent \"adverb fabric rsh\").",
	.check = check_words,
	.args = "HOST COMMAND...",
	.rest = true};

/* Joins the words by spaces. The caller frees the text. NULL: no memory, or too long. */
static char *join_words(char **words)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	for (; *words; words++)
		fprintf(f, "%s%s", *words, words[1] ? " " : "");
	if (fclose(f) == 0 && len <= COMMAND_MAX)
		return text;
	free(text);
	return NULL;
}

int adv_fabric_rsh_main(int argc, char **argv)
{
	char **words = NULL, *command;

	if (!adv_command_read(&rsh_syntax, argc, argv, &words, NULL))
		return ADV_EXIT_USAGE;
	command = join_words(words + 1);
	if (!command) {
		fprintf(stderr, "adverb fabric rsh: the command is too long\n");
		return ADV_EXIT_FAILED;
	}
	if (adv_call_enter_host("adverb fabric rsh", words[0])) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		fprintf(stderr, "adverb fabric rsh: /bin/sh: %s\n", strerror(errno));
	}
	free(command);
	return ADV_EXIT_FAILED;
}

/* ---- the group ---- */

static const struct adv_command commands[] = {
	{"up", "Start the emulator with a scenario", adv_fabric_up_main},
	{"status", "Show queues, pauses, marks, drops and programs", adv_fabric_status_main},
	{"top", "Show the same, live", adv_fabric_top_main},
	{"cable", "Take a cable down or up; let it lose, damage or delay frames",
	 adv_fabric_cable_main},
	{"capture", "Capture the frames at a port or at a host", adv_fabric_capture_main},
	{"down", "End the emulator", adv_fabric_down_main},
	{"rsh", "Run a command on a host, for launchers", adv_fabric_rsh_main},
	{NULL, NULL, NULL},
};

int adv_fabric_main(int argc, char **argv)
{
	static const struct adv_command_group group = {
		.name = "adverb fabric",
		.kind = "command",
		.commands = commands,
		.usage = "COMMAND [OPTION...]",
		.about =
			"Emulate a lossless Ethernet in real time: the simulated switches of a "
			"scenario, with real programs on its hosts (adverb run --host).\vCommands:",
		.more = "'adverb fabric COMMAND --help' lists the options of each. A "
			"walk-through: " ADV_DOC_DIR "/emulation.md",
	};

	return adv_command_dispatch(&group, argc, argv);
}
