/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverbd: options, going to the background, and the report to the starter. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/version.h"
#include "runtime/keeper/carrier.h"
#include "runtime/daemon/daemon.h"
#include "runtime/keeper/descriptors.h"
#include "runtime/keeper/detach.h"
#include "runtime/daemon/keeper.h"
#include "runtime/keeper/priority.h"
#include "runtime/daemon/worker.h"

#define LINGER_DEFAULT_MS 1000
#define LINGER_MAX_S	  86400
#define LISTEN_FD	  3 /* SD_LISTEN_FDS_START of sd_listen_fds(3) */

struct options {
	bool foreground;
	bool system;
	uint64_t linger_ms;
	int ready_fd;
	int listen_fd; /* listening control socket of a service manager; -1: none */
	int estate_fd; /* queue end of the carrier of an earlier daemon (carrier.h); -1: none */
	struct adv_pkey_table pkeys; /* empty: the default */
	unsigned descriptors;	     /* the starting process's limit of descriptors */
};

__attribute__((visibility("default"))) const char *argp_program_version = "adverbd " ADV_VERSION;

enum { KEY_READY_FD = 256, KEY_ESTATE_FD };

static const struct argp_option argp_options[] = {
	{"foreground", 'f', NULL, 0, "Stay in the foreground and log to standard error", 0},
	{"system", 's', NULL, 0,
	 "Serve all users of this network namespace, and stay without clients (root only)", 0},
	{"linger", 'l', "SECONDS", 0, "Exit this many seconds after the last client (default 1)",
	 0},
	{"pkeys", 'p', "LIST", 0,
	 "P_Key table of the port, separated by commas (default: ADVERB_PKEYS, or 0xffff)", 0},
	{"ready-fd", KEY_READY_FD, "FD", OPTION_HIDDEN, "Report the start on this descriptor", 0},
	{"estate-fd", KEY_ESTATE_FD, "FD", OPTION_HIDDEN,
	 "Continue with the sockets in this socket's queue", 0},
	{0},
};

static int parse_fd(const char *option, const char *arg, struct argp_state *state)
{
	char *end;
	long fd = strtol(arg, &end, 10);

	if (end == arg || *end || fd < 3 || fd > INT_MAX || fcntl((int)fd, F_GETFD) < 0)
		argp_error(state, "%s: '%s' is not an open descriptor", option, arg);
	return (int)fd;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	char *end;
	double seconds;
	char why[80];

	switch (key) {
	case 'f':
		o->foreground = true;
		return 0;
	case 's':
		o->system = true;
		return 0;
	case 'l':
		seconds = strtod(arg, &end);
		if (end == arg || *end || !(seconds >= 0 && seconds <= LINGER_MAX_S))
			argp_error(state, "--linger: '%s' is not a number of seconds from 0 to %d",
				   arg, LINGER_MAX_S);
		o->linger_ms = (uint64_t)(seconds * 1000);
		return 0;
	case 'p':
		if (!adv_pkey_table_parse(arg, &o->pkeys, why, sizeof(why)))
			argp_error(state, "--pkeys: %s", why);
		return 0;
	case KEY_READY_FD:
		o->ready_fd = parse_fd("--ready-fd", arg, state);
		return 0;
	case KEY_ESTATE_FD:
		o->estate_fd = parse_fd("--estate-fd", arg, state);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	argp_options,
	parse_option,
	NULL,
	"Run the control plane of Adverb, an RDMA NIC in software. The daemon holds UDP port 4791, "
	"assigns QP numbers and publishes the GID table. Programs start it themselves; you need "
	"not start it by hand.\vOne daemon serves one user in one network namespace; with "
	"--system, all users. See adverbd(8).",
	NULL,
	NULL,
	NULL,
};

/* Closes descriptors that the starting process left open. Opens standard descriptors that it had
 * closed. */
static void reset_descriptors(int ready_fd, int estate_fd)
{
	const int low = ready_fd < estate_fd ? ready_fd : estate_fd;
	const int high = ready_fd < estate_fd ? estate_fd : ready_fd;
	const int keep[2] = {low, high};
	unsigned from = 3;
	int fd;

	do
		fd = adv_detach_null();
	while (fd >= 0 && fd < 3);
	if (fd >= 3)
		close(fd);
	for (int i = 0; i < 2; i++) {
		if (keep[i] < (int)from)
			continue;
		fcntl(keep[i], F_SETFD, FD_CLOEXEC);
		if ((unsigned)keep[i] > from)
			adv_close_range(from, (unsigned)keep[i] - 1);
		from = (unsigned)keep[i] + 1;
	}
	adv_close_range(from, ~0u);
}

/* Returns the listening socket that a service manager such as systemd passes, by the protocol of
 * sd_listen_fds(3); -1: none. Removes the protocol's variables from the environment. */
static int passed_listener(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	int fd = -1, type = 0, listens = 0;
	socklen_t len = sizeof(int);

	if (pid && count && atol(pid) == (long)getpid() && strcmp(count, "1") == 0)
		fd = LISTEN_FD;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (fd < 0)
		return -1;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_SEQPACKET ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0 || !listens ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
		fprintf(stderr,
			"adverbd: descriptor %d (LISTEN_FDS) is no listening SEQPACKET "
			"socket\n",
			fd);
		exit(2);
	}
	return fd;
}

/* Prints the child's report; for the parent of a daemon that a user started in the background. */
static int hear_child(int fd)
{
	char said[1024];
	ssize_t n, len = 0;

	while (len < (ssize_t)sizeof(said) - 1 &&
	       (n = read(fd, said + len, sizeof(said) - 1 - (size_t)len)) > 0)
		len += n;
	said[len] = 0;
	if (said[0] == ADV_START_READY)
		return 0;
	fprintf(stderr, "adverbd: %s\n",
		said[0] == ADV_START_LOST ? "already running in this network namespace"
		: said[0] == ADV_START_FAILED || said[0] == ADV_START_WAIT
			? said + 1
			: "ended while it started");
	return 1;
}

/* Forks the daemon into the background. Returns only in the daemon. */
static void go_to_background(struct options *o)
{
	bool by_hand = o->ready_fd < 0;
	int pipe[2];
	pid_t pid;

	if (by_hand && pipe2(pipe, O_CLOEXEC) < 0) {
		perror("adverbd: pipe");
		exit(1);
	}
	pid = fork();
	if (pid < 0) {
		perror("adverbd: fork");
		exit(1);
	}
	if (pid > 0) {
		if (!by_hand)
			_exit(0);
		close(pipe[1]);
		exit(hear_child(pipe[0]));
	}
	if (by_hand) {
		close(pipe[0]);
		o->ready_fd = pipe[1];
	}
	setsid();
	adv_detach_limits(true);
	adv_detach_processors();
	adv_priority_ask(true);
	adv_detach_standard();
}

/* Prepares a daemon in the foreground. Its session may be a shell's, so the daemon must not change
 * the weight of the session's autogroup. */
static void stay_in_foreground(void)
{
	adv_detach_limits(false);
	adv_priority_ask(false);
	if (!getenv("ADVERB_LOG"))
		adv_log_set_level(ADV_LOG_INFO);
	adv_log_for_journal();
}

/* Returns the largest number of sockets to carry. The limit leaves descriptors in flight for other
 * programs of the user: see runtime/keeper/carrier.h. */
static unsigned carried_most(const struct options *o)
{
	return o->descriptors / 2 > ADV_CARRIER_LEAST ? o->descriptors / 2 : ADV_CARRIER_LEAST;
}

/* Reads the P_Key table of the environment, if no option has set one. 0 or EINVAL. */
static int read_pkeys(struct adv_pkey_table *pkeys, char *why, size_t why_len)
{
	const char *text = getenv(ADV_PKEYS_VARIABLE);
	char reason[80];

	if (pkeys->count || !text || !*text ||
	    adv_pkey_table_parse(text, pkeys, reason, sizeof(reason)))
		return 0;
	snprintf(why, why_len, ADV_PKEYS_VARIABLE ": %s", reason);
	return EINVAL;
}

static int start_daemon(struct options *o)
{
	struct adv_daemon d = {.system = o->system,
			       .uid = geteuid(),
			       .linger_ms = o->linger_ms,
			       .foreground = o->foreground,
			       .ready_fd = o->ready_fd,
			       .marker = -1,
			       .pkeys = o->pkeys,
			       .listener = o->listen_fd,
			       .listener_passed = o->listen_fd >= 0,
			       .run_worker = adv_worker_run,
			       .carrier = {.queue = -1, .feed = -1, .most = carried_most(o)}};
	char why[900] = "";
	int error = read_pkeys(&d.pkeys, why, sizeof(why));

	if (!error)
		error = o->estate_fd < 0 ? adv_daemon_create(&d, why, sizeof(why))
					 : adv_daemon_adopt(&d, o->estate_fd, why, sizeof(why));

	if (!error)
		return adv_keeper_start(&d);
	if (o->foreground)
		fprintf(stderr, "adverbd: %s\n", why);
	adv_daemon_drop_names(&d);
	adv_daemon_report(&d,
			  error == EALREADY ? ADV_START_LOST
			  : error == EBUSY  ? ADV_START_WAIT
					    : ADV_START_FAILED,
			  why);
	return 1;
}

int main(int argc, char **argv)
{
	struct options o = {
		.linger_ms = LINGER_DEFAULT_MS, .ready_fd = -1, .listen_fd = -1, .estate_fd = -1};
	struct rlimit r;

	if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return 2;
	adv_detach_signals();
	if (o.system && o.foreground && o.ready_fd < 0)
		o.listen_fd = passed_listener();
	reset_descriptors(o.listen_fd < 0 ? o.ready_fd : o.listen_fd, o.estate_fd);
	if (getrlimit(RLIMIT_NOFILE, &r) == 0)
		o.descriptors = r.rlim_cur < UINT_MAX ? (unsigned)r.rlim_cur : UINT_MAX;
	if (o.system && o.listen_fd < 0 && geteuid() != 0) {
		fprintf(stderr, "adverbd: --system needs root, or the socket of adverbd.socket: "
				"programs of other users trust no daemon but their own and "
				"root's\n");
		return 2;
	}
	umask(077);
	if (chdir("/") < 0)
		perror("adverbd: chdir /");
	if (!o.foreground)
		go_to_background(&o);
	else
		stay_in_foreground();
	return start_daemon(&o);
}
