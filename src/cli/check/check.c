/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb check: runs a program with the sanitizer, receives the findings of all its processes, and
 * reports them. */
#include "cli/command/command.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/check/ends.h"
#include "abi/check/observer.h"
#include "abi/check/rules.h"
#include "cli/check/report.h"
#include "cli/command/environment.h"

#define EXIT_OURS 125 /* adverb check itself failed; env(1) uses the same number */
#define PRELOAD	  "libadverb-check.so"

struct options {
	const char *json;
	const char *suppressions;
	int exit_code; /* 0: the program's */
	bool list_rules;
	bool advice;
	bool leaks;
	char **program;
};

static void read_exit_code(struct argp_state *state, const char *option, const char *arg,
			   void *options)
{
	struct options *o = options;
	char *end;
	long code = strtol(arg, &end, 10);

	if (!*arg || *end || code < 1 || code > 255)
		argp_error(state, "%s: '%s' is not a number from 1 to 255", option, arg);
	o->exit_code = (int)code;
}

static void check_program(struct argp_state *state, void *options)
{
	const struct options *o = options;

	if (!o->program && !o->list_rules)
		argp_error(state, "no program to check: expected adverb check [OPTION...] PROGRAM");
}

static const struct adv_option option_table[] = {
	{"json", 0, "FILE", "Write the findings to FILE as JSON", ADV_OPTION_TEXT(json)},
	{"exit-code", 0, "N",
	 "Exit with N (1 to 255) if there is a finding other than a leak, instead of the program's "
	 "status",
	 .read = read_exit_code},
	{"leaks", 0, NULL, "With --exit-code: leaks count, too", ADV_OPTION_INTO(leaks)},
	{"suppressions", 0, "FILE", "Omit the findings that a line 'RULE PATTERN' of FILE names",
	 ADV_OPTION_TEXT(suppressions)},
	{"advice", 0, NULL, "Report also what is merely not advisable", ADV_OPTION_INTO(advice)},
	{"list-rules", 0, NULL, "List the rules", ADV_OPTION_INTO(list_rules)},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Run a program on Adverb's RDMA NIC and report its misuse of libibverbs and "
		 "librdmacm.\v"
		 "Each finding names its rule; see " ADV_DOC_DIR
		 "/check.md. For options of adverb run:\n"
		 "  adverb check -- adverb run --fault 'drop=1%' -- PROGRAM\n",
	.check = check_program,
	.args = "[--] PROGRAM [ARGUMENT...]",
	.file = offsetof(struct options, program),
	.rest = true};

static int list_rules(void)
{
	for (unsigned i = 0; i < ADV_RULES; i++)
		printf("%-26s %-8s %s\n", adv_check_rules[i].name, adv_check_severity_name(i),
		       adv_check_rules[i].title);
	return 0;
}

/* ---- the socket of the reports ---- */

struct inbox {
	char folder[32];
	char path[48];
	int fd;
};

/* Creates a socket that only this user can reach. */
static bool open_inbox(struct inbox *inbox)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	strcpy(inbox->folder, "/tmp/adverb-check-XXXXXX");
	if (!mkdtemp(inbox->folder)) {
		perror("adverb check: cannot create a folder in /tmp");
		return false;
	}
	snprintf(inbox->path, sizeof(inbox->path), "%s/findings", inbox->folder);
	strcpy(name.sun_path, inbox->path);
	inbox->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (inbox->fd >= 0 && bind(inbox->fd, (struct sockaddr *)&name, sizeof(name)) == 0 &&
	    listen(inbox->fd, SOMAXCONN) == 0)
		return true;
	perror("adverb check: cannot create the socket of the findings");
	rmdir(inbox->folder);
	return false;
}

static void close_inbox(struct inbox *inbox)
{
	close(inbox->fd);
	unlink(inbox->path);
	rmdir(inbox->folder);
}

/* Receives the finding of one connection. */
static void receive_finding(int fd, struct adv_check_report *report)
{
	static struct adv_check_message m; /* too large for the stack */
	ssize_t n = recv(fd, &m, sizeof(m), MSG_TRUNC);

	if (n >= 0 && adv_check_message_valid(&m, (size_t)n))
		adv_check_report_add(report, &m);
	close(fd);
}

/* Receives all findings that processes have sent. */
static void empty_inbox(struct inbox *inbox, struct adv_check_report *report)
{
	int fd;

	while ((fd = accept4(inbox->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		receive_finding(fd, report);
}

/* ---- the program ---- */

/* In the child: executes the program as `adverb run` does. */
static void start_program(const struct options *o, const char *path)
{
	char folder[PATH_MAX], **argv;
	int count = 0;

	if (!adv_cli_find_libraries(folder) || adv_cli_preload(folder, PRELOAD) < 0 ||
	    setenv(ADV_CHECK_ENVIRONMENT, path, 1) < 0) {
		fprintf(stderr, "adverb check: Adverb's libraries are neither in lib/ beside this "
				"program nor in " ADV_LIBRARY_DIR ": build or install them\n");
		exit(EXIT_OURS);
	}
	/* A refused call is mostly a mistake, too, and not each has a rule. */
	(void)setenv("ADVERB_LOG", "warn", 0);
	while (o->program[count])
		count++;
	argv = calloc((size_t)count + 3, sizeof(*argv));
	if (!argv) {
		perror("adverb check");
		exit(EXIT_OURS);
	}
	argv[0] = strdup("adverb check");
	argv[1] = strdup("--");
	memcpy(argv + 2, o->program, (size_t)count * sizeof(*argv));
	exit(adv_run_main(count + 2, argv));
}

/* Receives findings until the program has ended. Returns its wait status. */
static int watch_program(pid_t pid, int signals, struct inbox *inbox,
			 struct adv_check_report *report)
{
	struct pollfd fds[] = {{signals, POLLIN, 0}, {inbox->fd, POLLIN, 0}};
	struct signalfd_siginfo info;
	int status;

	for (;;) {
		(void)poll(fds, 2, -1);
		empty_inbox(inbox, report);
		if (read(signals, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGCHLD)
			kill(pid, (int)info.ssi_signo);
		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
	}
	empty_inbox(inbox, report);
	return status;
}

/* Blocks the signals that the command handles, and returns their descriptor. */
static int catch_signals(sigset_t *before)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, before);
	/* The terminal sends this signal to the program, too. */
	signal(SIGINT, SIG_IGN);
	return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int run_program(const struct options *o, struct inbox *inbox,
		       struct adv_check_report *report)
{
	sigset_t before;
	int signals = catch_signals(&before), status;
	pid_t pid = signals < 0 ? -1 : fork();

	if (pid == 0) {
		signal(SIGINT, SIG_DFL);
		sigprocmask(SIG_SETMASK, &before, NULL);
		start_program(o, inbox->path);
	}
	if (pid < 0) {
		perror("adverb check");
		return EXIT_OURS;
	}
	status = watch_program(pid, signals, inbox, report);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static bool write_json(const char *name, struct json_object *findings)
{
	FILE *f = fopen(name, "w");
	struct json_object *o = adv_json_object();
	bool failed;

	adv_json_add(o, "findings", findings);
	if (!f) {
		fprintf(stderr, "adverb check: --json %s: %s\n", name, strerror(errno));
		return false;
	}
	adv_json_print(f, o);
	failed = ferror(f) | fclose(f);
	if (failed)
		fprintf(stderr, "adverb check: --json %s: cannot write\n", name);
	return !failed;
}

int adv_check_main(int argc, char **argv)
{
	struct adv_check_report report = {.out = stderr};
	struct adv_suppressions *suppressions;
	struct options o = {0};
	char ends[ADV_CHECK_ENDS_PATH];
	struct inbox inbox;
	int status;

	if (!adv_command_read(&syntax, argc, argv, &o, NULL))
		return EXIT_OURS;
	if (o.list_rules)
		return list_rules();
	suppressions = adv_suppressions_read(o.suppressions);
	if (!suppressions || !open_inbox(&inbox))
		return EXIT_OURS;
	report.suppressions = suppressions;
	report.symbols = adv_symbols_new();
	report.advice = o.advice;
	report.json = o.json ? adv_json_array() : NULL;
	status = run_program(&o, &inbox, &report);
	close_inbox(&inbox);
	adv_check_ends_path(ends);
	adv_check_ends_tidy(ends);
	fprintf(stderr, "adverb check: findings: %u, suppressed: %u%s\n", report.findings,
		report.suppressed,
		report.leaks && !o.leaks && o.exit_code
			? "; leaks do not count for --exit-code without --leaks"
			: "");
	if (o.json && !write_json(o.json, report.json))
		status = EXIT_OURS;
	adv_symbols_free(report.symbols);
	adv_suppressions_free(suppressions);
	return o.exit_code && report.findings > (o.leaks ? 0 : report.leaks) ? o.exit_code : status;
}
