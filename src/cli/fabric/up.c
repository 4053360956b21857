/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb fabric up: starts the emulator. */
#include "cli/fabric/fabric.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/sim/report.h"
#include "cli/sim/run.h"
#include "fabric/emulator/emulator.h"
#include "fabric/plan/dcbx.h"

#define SETS	    64
#define NETWORK	    "10.31.0.1"
#define FACTOR_MOST 1000000u

struct options {
	const char *file;
	const char *set[SETS];
	unsigned sets;
	uint32_t numerator;
	uint32_t denominator;
	uint32_t network; /* address of the first host, host byte order */
	bool foreground;
};

static volatile sig_atomic_t stopped;

static void on_signal(int signal)
{
	stopped = 1;
}

/* ---- options ---- */

static void read_factor(struct argp_state *state, const char *option, const char *arg,
			void *options)
{
	struct options *o = options;
	unsigned long a, b = 1;
	char *end;

	a = strtoul(arg, &end, 10);
	if (end != arg && *end == '/')
		b = strtoul(end + 1, &end, 10);
	if (*arg < '0' || *arg > '9' || *end || a < 1 || b < 1 || a > FACTOR_MOST ||
	    b > FACTOR_MOST)
		argp_error(state, "%s: '%s' is not a factor such as 1/100", option, arg);
	o->numerator = (uint32_t)a;
	o->denominator = (uint32_t)b;
}

static void add_set(struct argp_state *state, const char *option, const char *arg, void *options)
{
	struct options *o = options;

	if (o->sets == SETS)
		argp_error(state, "%s: given more than %d times", option, SETS);
	o->set[o->sets++] = arg;
}

static void read_network(struct argp_state *state, const char *option, const char *arg,
			 void *options)
{
	struct options *o = options;
	struct in_addr address;

	if (inet_pton(AF_INET, arg, &address) != 1)
		argp_error(state, "%s: '%s' is no IPv4 address", option, arg);
	o->network = ntohl(address.s_addr);
}

static void check_options(struct argp_state *state, void *options)
{
	const struct options *o = options;

	if (!o->file)
		argp_usage(state);
}

static const struct adv_option option_table[] = {
	{"speed-factor", 0, "FACTOR",
	 "Run virtual time slower than the clock: with 1/100, a cable of 100 Gb/s carries 1 Gb/s, "
	 "and its delay is 100 times as long (default 1)",
	 .read = read_factor},
	{"set", 's', "KEY=VALUE", "Replace a value of the file, as in adverb sim", .read = add_set},
	{"network", 0, "ADDRESS",
	 "IPv4 address of host h0 (default " NETWORK "/16); h1 has the next one",
	 .read = read_network},
	{"foreground", 'f', NULL, "Stay in the foreground, until SIGINT or adverb fabric down",
	 ADV_OPTION_INTO(foreground)},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Start the emulator of a fabric: the switches and cables of a scenario in real "
		 "time. Run programs on its hosts with adverb run --host. The flows of the "
		 "scenario run beside them.\v"
		 "Example:\n"
		 "  adverb fabric up --speed-factor 1/100 scenario.ini\n"
		 "  adverb run --host h1 -- ib_write_bw -F &\n"
		 "  adverb run --host h0 -- ib_write_bw -F 10.31.0.2\n",
	.check = check_options, .args = "FILE", .file = offsetof(struct options, file)};

/* ---- the emulator ---- */

static bool prepare_fabric(struct adv_sim *sim, const struct options *o)
{
	char why[ADV_SCENARIO_WHY];
	size_t len = 0;
	char *text = adv_cli_read_file("adverb fabric up", o->file, ADV_SCENARIO_FILE_MAX, &len);
	bool good;

	if (!text)
		return false;
	good = adv_scenario_read(&sim->scenario, o->file, text, len, why);
	free(text);
	for (unsigned i = 0; good && i < o->sets; i++)
		good = adv_scenario_set(&sim->scenario, o->set[i], why);
	sim->scenario.programs = true;
	if (good)
		good = adv_scenario_build(&sim->scenario, &sim->topology, &sim->fabric, why);
	if (!good)
		fprintf(stderr, "adverb fabric up: %s\n", why);
	return good;
}

/* Tells the starter that the emulator runs (an empty line), or why not. */
static void report_start(int fd, const char *line)
{
	(void)!write(fd, line, strlen(line));
	(void)!write(fd, "\n", 1);
	close(fd);
}

/* A host needs two descriptors, and a program three. */
static void raise_descriptors(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur == r.rlim_max)
		return;
	r.rlim_cur = r.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &r);
}

static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	(void)!chdir("/");
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (null >= 3)
		close(null);
}

/* The report of a run, which is sampled in case that `adverb fabric down --report` wants it. */
struct page {
	struct adv_sim *sim;
	int file; /* memfd */
	char path[40];
};

static uint64_t next_sample(void *user)
{
	const struct page *p = user;

	return adv_report_next(p->sim->report);
}

static void take_sample(void *user)
{
	struct page *p = user;

	adv_report_sample(p->sim->report, p->sim);
}

static bool write_page(void *user, int fd, const struct adv_emulator_flow *flow, uint32_t count)
{
	struct page *p = user;
	struct stat st;
	off_t at = 0;

	adv_report_set_programs(p->sim->report, flow, count);
	if (!adv_report_close(p->sim->report, p->sim) || fstat(p->file, &st) < 0)
		return false;
	while (at < st.st_size)
		if (sendfile(fd, p->file, &at, (size_t)(st.st_size - at)) <= 0)
			return false;
	return true;
}

static bool open_page(struct page *p, struct adv_sim *sim, struct adv_emulator_config *config)
{
	p->sim = sim;
	p->file = memfd_create("adverb-report", MFD_CLOEXEC);
	snprintf(p->path, sizeof(p->path), "/proc/self/fd/%d", p->file);
	if (p->file < 0 || !(sim->report = adv_report_open(sim, p->path)))
		return false;
	config->next = next_sample;
	config->sample = take_sample;
	config->report = write_page;
	config->user = p;
	return true;
}

/* Derives what the switches advertise. False: no real port could have these settings. */
static bool make_dcbx(const struct adv_sim *sim, struct adv_dcbx *dcbx)
{
	struct adv_plan_dcb plan;

	if (adv_plan_dcb(&sim->scenario, &sim->topology, sim->fabric, &plan))
		return false;
	adv_plan_dcbx(&plan, dcbx);
	return true;
}

/* In the emulator's process. Returns its exit status. */
static int emulate_fabric(struct adv_sim *sim, const struct options *o, int ready)
{
	struct adv_emulator_config config = {.fabric = sim->fabric,
					     .topology = &sim->topology,
					     .numerator = o->numerator,
					     .denominator = o->denominator,
					     .mtu = sim->scenario.host.mtu,
					     .network = o->network,
					     .name = o->file,
					     .stop = &stopped};
	struct sigaction action = {.sa_handler = on_signal};
	char why[ADV_EMULATOR_WHY] = "no memory";
	struct adv_emulator *e = NULL;
	struct adv_dcbx dcbx;
	struct page page;
	int error;

	if (make_dcbx(sim, &dcbx))
		config.dcbx = &dcbx;
	raise_descriptors();
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (open_page(&page, sim, &config))
		e = adv_emulator_create(&config, why);
	report_start(ready, e ? "" : why);
	if (!e)
		return ADV_EXIT_FAILED;
	if (!o->foreground)
		leave_terminal();
	error = adv_emulator_run(e);
	adv_emulator_destroy(e);
	return error ? ADV_EXIT_FAILED : 0;
}

/* Waits for the emulator's report. Returns the exit status. */
static int hear_emulator(int fd, const struct adv_sim *sim, const struct options *o)
{
	char line[ADV_EMULATOR_WHY + 1] = "";
	ssize_t n, len = 0;
	struct in_addr first = {htonl(o->network)};
	char address[INET_ADDRSTRLEN];

	while (len < (ssize_t)sizeof(line) - 1 &&
	       (n = read(fd, line + len, sizeof(line) - 1 - (size_t)len)) > 0)
		len += n;
	if (len != 1) {
		fprintf(stderr, "adverb fabric up: %s%s", len ? line : "the emulator has ended",
			len ? "" : "\n");
		return ADV_EXIT_FAILED;
	}
	printf("The fabric is up: hosts h0 to h%u, %u switches, virtual time %u/%u of the clock.\n"
	       "Host h0 has the address %s, h1 the next one, and so on.\n",
	       sim->topology.hosts - 1, sim->topology.switches, o->numerator, o->denominator,
	       inet_ntop(AF_INET, &first, address, sizeof(address)));
	return 0;
}

static int start_emulator(struct adv_sim *sim, const struct options *o)
{
	int ready[2];
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0) {
		perror("adverb fabric up: pipe");
		return ADV_EXIT_FAILED;
	}
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("adverb fabric up: fork");
		return ADV_EXIT_FAILED;
	}
	/* In the foreground, the parent is the emulator and the child tells the user. */
	if ((pid == 0) != o->foreground) {
		close(ready[0]);
		return emulate_fabric(sim, o, ready[1]);
	}
	close(ready[1]);
	return hear_emulator(ready[0], sim, o);
}

int adv_fabric_up_main(int argc, char **argv)
{
	struct options o = {.numerator = 1, .denominator = 1};
	struct adv_sim sim = {.stop = ADV_FABRIC_UNTIL, .quiet = true};
	struct in_addr address;
	int status = ADV_EXIT_USAGE;

	inet_pton(AF_INET, NETWORK, &address);
	o.network = ntohl(address.s_addr);
	if (!adv_command_read(&syntax, argc, argv, &o, NULL))
		return ADV_EXIT_USAGE;
	sim.file = o.file;
	if (prepare_fabric(&sim, &o))
		status = start_emulator(&sim, &o);
	adv_report_discard(sim.report);
	adv_fabric_destroy(sim.fabric);
	adv_topology_free(&sim.topology);
	adv_scenario_free(&sim.scenario);
	return status;
}
