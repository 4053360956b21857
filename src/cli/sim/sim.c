/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb sim: runs a scenario of the simulated lossless Ethernet. */
#include "cli/sim/run.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fnv.h"
#include "base/units.h"
#include "cli/command/command.h"
#include "cli/command/json.h"
#include "cli/sim/report.h"
#include "cli/sim/ranks.h"
#include "cli/sim/series.h"
#include "cli/sim/sweep.h"
#include "fabric/network/calendar.h"
#include "fabric/switch/egress.h"

#define EVENTS	  100000 /* events between two checks for signals, which take some ms */
#define SETS	  64
#define OTHER_MAX (256u << 20) /* largest trace or topology, bytes */
#define JOBS	  1024
#define THREADS	  64

struct options {
	const char *file;
	const char *csv;
	const char *report;
	const char *set[SETS];
	unsigned sets;
	char seed[40];
	const char *sweep;
	const char *trace;
	const char *topology;
	const char *series;
	const char *results;
	unsigned part; /* from 0 */
	unsigned parts;
	unsigned jobs;
	unsigned threads;
	bool json;
	bool mpi;
	struct adv_sim_ranks ranks;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
	interrupted = 1;
}

/* ---- the file ---- */

typedef bool read_fn(struct adv_scenario *s, const char *name, const char *text, size_t len,
		     char why[ADV_SCENARIO_WHY]);

/* Reads a file beside the scenario, if it is given. */
static bool read_other(struct adv_sim *sim, struct adv_sim_ranks *ranks, const char *file,
		       read_fn *read, char why[ADV_SCENARIO_WHY])
{
	size_t len = 0;
	char *text;
	bool good;

	if (!file)
		return true;
	text = adv_sim_ranks_read_file(ranks, file, OTHER_MAX, &len);
	if (!text) {
		snprintf(why, ADV_SCENARIO_WHY, "%s cannot be read", file);
		return false;
	}
	good = read(&sim->scenario, file, text, len, why);
	free(text);
	return good;
}

/* Divides the network among ranks and threads. */
static bool divide_network(struct adv_sim *sim, const struct options *o)
{
	unsigned threads = o->threads ? o->threads : 1, ranks = o->mpi ? o->ranks.of.count : 1;
	int64_t parts = 1;
	char what[64];

	if (ranks > 1)
		parts = adv_fabric_divide_ranks(sim->fabric, threads, &o->ranks.of);
	else if (threads > 1)
		parts = adv_fabric_divide(sim->fabric, threads, threads);
	snprintf(what, sizeof(what), ranks > 1 ? "--threads %u, %u ranks" : "--threads %u", threads,
		 ranks);
	if (parts < 0 && errno == ENOMEM && ranks > 1)
		o->ranks.of.fail(o->ranks.of.user, "no memory");
	if (parts < 0 && adv_sim_ranks_lead(&o->ranks))
		fprintf(stderr, "adverb sim: %s: %s\n", what,
			errno == EINVAL ? "more than 64 in all" : strerror(errno));
	if (parts >= 0 && parts < threads * ranks && !sim->quiet)
		fprintf(stderr, "adverb sim: %s: the network can be divided into %d part%s\n", what,
			(int)parts, parts == 1 ? "" : "s");
	return parts > 0;
}

static bool prepare_run(struct adv_sim *sim, struct options *o)
{
	char why[ADV_SCENARIO_WHY];
	size_t len = 0;
	char *text = adv_sim_ranks_read_file(&o->ranks, o->file, ADV_SCENARIO_FILE_MAX, &len);
	bool good;

	if (!text)
		return false;
	good = adv_scenario_read(&sim->scenario, o->file, text, len, why);
	free(text);
	good = good && read_other(sim, &o->ranks, o->topology, adv_scenario_import, why) &&
	       read_other(sim, &o->ranks, o->trace, adv_scenario_trace, why);
	for (unsigned i = 0; good && i < o->sets; i++)
		good = adv_scenario_set(&sim->scenario, o->set[i], why);
	if (good)
		good = adv_scenario_build(&sim->scenario, &sim->topology, &sim->fabric, why);
	if (good && o->series && !sim->scenario.run.sample) {
		snprintf(why, sizeof(why), "--series needs [run] sample");
		good = false;
	}
	return adv_sim_ranks_agree(&o->ranks, good, why) && divide_network(sim, o);
}

/* ---- the run ---- */

static void on_event(void *user, const struct adv_fabric_event *e)
{
	static const char *const names[] = {
		[ADV_SWITCH_DROP] = "drop",   [ADV_SWITCH_MARK] = "mark",
		[ADV_SWITCH_XOFF] = "xoff",   [ADV_SWITCH_XON] = "xon",
		[ADV_SWITCH_STORM] = "storm", [ADV_SWITCH_STORM_END] = "storm-end",
		[ADV_SWITCH_DOWN] = "down",   [ADV_SWITCH_UP] = "up",
	};
	struct adv_sim *sim = user;

	if (e->kind == ADV_FABRIC_SAMPLE && sim->series)
		adv_sim_series_sample(sim);
	if (e->kind == ADV_FABRIC_SWITCH && e->what == ADV_SWITCH_XOFF && !sim->first_pause.found)
		sim->first_pause = (struct adv_sim_pause){true, e->node, e->port, e->at};
	if (e->kind == ADV_FABRIC_SWITCH && sim->pauses)
		fprintf(sim->pauses, "%llu,%u,%u,%u,%s,%llu\n", (unsigned long long)e->at, e->node,
			e->port, e->priority, names[e->what], (unsigned long long)e->value);
}

static double monotonic_seconds(void)
{
	return (double)adv_clock_ns() * 1e-9;
}

/* Draws a progress bar on a terminal, after the first second. */
static void show_progress(const struct adv_sim *sim, double began, bool end)
{
	static bool shown;
	unsigned percent = (unsigned)(adv_fabric_now(sim->fabric) * 100.0 /
				      (double)sim->scenario.run.duration);

	if (sim->quiet)
		return;
	if (end ? !shown : monotonic_seconds() - began < 1 || !isatty(STDERR_FILENO))
		return;
	shown = true;
	fprintf(stderr, "\r[%-50.*s] %3u %%", (int)(percent / 2),
		"##################################################", percent);
	if (end)
		fputc('\n', stderr);
	fflush(stderr);
}

static void run_scenario(struct adv_sim *sim)
{
	uint64_t duration = sim->scenario.run.duration;
	double began = monotonic_seconds();
	bool on;

	do {
		uint64_t sample = sim->report ? adv_report_next(sim->report) : UINT64_MAX;
		uint64_t until = duration < sample ? duration : sample;

		sim->stop = adv_fabric_run_some(sim->fabric, until, EVENTS);
		if (sim->stop == ADV_FABRIC_UNTIL && until == sample) {
			adv_fabric_gather(sim->fabric);
			adv_report_sample(sim->report, sim);
		}
		show_progress(sim, began, false);
		on = (sim->stop == ADV_FABRIC_UNTIL && until < duration) ||
		     sim->stop == ADV_FABRIC_EVENTS ||
		     (sim->stop == ADV_FABRIC_DEADLOCK && !sim->scenario.run.stop_at_deadlock);
	} while (on && !interrupted);
	adv_fabric_gather(sim->fabric);
	sim->interrupted = on;
	if (on)
		sim->stop = ADV_FABRIC_UNTIL;
	show_progress(sim, began, true);
}

static int run_and_report(struct adv_sim *sim, const struct options *o)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_RESETHAND};
	struct sigaction on_int, on_term;
	bool good = true;

	if (o->report && !(sim->report = adv_report_open(sim, o->report)))
		return ADV_EXIT_FAILED;
	if (o->csv && !adv_sim_csv_open(sim, o->csv))
		return ADV_EXIT_FAILED;
	if ((o->csv || o->series) && !adv_sim_series_open(sim, o->series))
		return ADV_EXIT_FAILED;
	if (o->csv || o->series || o->report)
		adv_fabric_watch(sim->fabric, on_event, sim);
	if (sim->scenario.run.sample && adv_fabric_sample(sim->fabric, sim->scenario.run.sample))
		good = false;
	sigaction(SIGINT, &action, &on_int);
	sigaction(SIGTERM, &action, &on_term);
	if (good)
		run_scenario(sim);
	sigaction(SIGINT, &on_int, NULL);
	sigaction(SIGTERM, &on_term, NULL);
	if (!good || sim->stop == ADV_FABRIC_NO_MEMORY) {
		fprintf(stderr, "adverb sim: no memory\n");
		return ADV_EXIT_FAILED;
	}
	if (sim->series && !adv_sim_series_close(sim))
		return ADV_EXIT_FAILED;
	if (o->csv && !adv_sim_csv_close(sim, o->csv))
		return ADV_EXIT_FAILED;
	if (o->report && !adv_report_close(sim->report, sim))
		return ADV_EXIT_FAILED;
	if (!(o->json ? adv_sim_print_json(sim) : adv_sim_print_text(sim))) {
		fprintf(stderr, "adverb sim: no memory\n");
		return ADV_EXIT_FAILED;
	}
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fprintf(stderr, "adverb sim: the result cannot be written: %m\n");
	return ADV_EXIT_FAILED;
}

/* Simulates with the other ranks, of which rank 0 reports. That one also heeds signals, which
 * mpirun(1) sends to all. */
static int follow_ranks(struct adv_sim *sim)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	adv_fabric_follow(sim->fabric);
	return 0;
}

/* ---- sweeps ---- */

static int run_case(void *user, const char *const *set, unsigned count, FILE *out)
{
	struct options o = *(const struct options *)user;
	struct adv_sim sim = {.file = o.file, .stop = ADV_FABRIC_UNTIL, .quiet = true};
	struct json_object *json;

	for (unsigned i = 0; i < count; i++) {
		if (o.sets == SETS) {
			fprintf(stderr, "adverb sim: --set and --sweep: more than %d keys\n", SETS);
			return ADV_EXIT_USAGE;
		}
		o.set[o.sets++] = set[i];
	}
	if (!prepare_run(&sim, &o))
		return ADV_EXIT_USAGE;
	run_scenario(&sim);
	json = sim.stop == ADV_FABRIC_NO_MEMORY ? NULL : adv_sim_to_json(&sim);
	if (!json) {
		fprintf(stderr, "adverb sim: no memory\n");
		return ADV_EXIT_FAILED;
	}
	adv_json_print(out, json);
	return 0;
}

/* Adds bytes to a hash (FNV-1a), with a value behind them that separates them from others. */
static uint64_t add_to_hash(uint64_t hash, const char *bytes, size_t len)
{
	return adv_fnv_add(adv_fnv_add_bytes(hash, bytes, len), 0x100);
}

/* Computes the hash of everything that a run depends on, except the values of the sweep. False: a
 * file cannot be read; an error was printed. */
static bool hash_input(const struct options *o, uint64_t *hash)
{
	const char *const files[] = {o->file, o->topology, o->trace};

	*hash = ADV_FNV_BASIS;
	for (unsigned i = 0; i < 3; i++) {
		size_t len = 0;
		char *text = files[i] ? adv_cli_read_file("adverb sim", files[i], OTHER_MAX, &len)
				      : NULL;

		if (files[i] && !text)
			return false;
		*hash = add_to_hash(*hash, text ? text : "", len);
		*hash = add_to_hash(*hash, files[i] ? "file" : "none", 4);
		free(text);
	}
	for (unsigned i = 0; i < o->sets; i++)
		*hash = add_to_hash(*hash, o->set[i], strlen(o->set[i]));
	return true;
}

static bool prepare_sweep(struct adv_sweep *s, const struct options *o)
{
	if (!adv_sweep_parse(s, o->sweep))
		return false;
	s->results = o->results;
	s->part = o->part;
	s->parts = o->parts ? o->parts : 1;
	return !o->results || hash_input(o, &s->input);
}

static int run_sweep(struct options *o)
{
	struct adv_sweep sweep;
	int status = ADV_EXIT_USAGE;
	bool good = false;

	if (prepare_sweep(&sweep, o))
		status = adv_sweep_run(&sweep, o->jobs ? o->jobs : 1, run_case, o);
	if (status == 0 && o->parts == 0) {
		good = (!o->csv || adv_sweep_write_csv(&sweep, o->csv)) &&
		       (!o->report || adv_sweep_write_page(&sweep, o->file, o->report)) &&
		       (o->json ? adv_sweep_print_json(&sweep, o->file)
				: adv_sweep_print_text(&sweep));
		if (good && (fflush(stdout) || ferror(stdout))) {
			fprintf(stderr, "adverb sim: the result cannot be written: %m\n");
			good = false;
		}
		status = good ? 0 : ADV_EXIT_FAILED;
	}
	adv_sweep_free(&sweep);
	return status;
}

/* ---- the command ---- */

static void add_set(struct argp_state *state, const char *option, const char *arg, void *options)
{
	struct options *o = options;

	if (o->sets == SETS)
		argp_error(state, "--set and --seed: given more than %d times", SETS);
	o->set[o->sets++] = arg;
}

static void read_seed(struct argp_state *state, const char *option, const char *arg, void *options)
{
	struct options *o = options;

	snprintf(o->seed, sizeof(o->seed), "run.seed=%s", arg);
	add_set(state, option, o->seed, o);
}

static void read_part(struct argp_state *state, const char *option, const char *arg, void *options)
{
	struct options *o = options;
	int end = 0;

	if (sscanf(arg, "%6u/%6u%n", &o->part, &o->parts, &end) != 2 || arg[end] != '\0' ||
	    o->part < 1 || o->part > o->parts)
		argp_error(state, "--part %s: expected K/N, such as 3/16", arg);
	o->part--;
}

static void check_options(struct argp_state *state, void *options)
{
	const struct options *o = options;

	if (!o->file)
		argp_usage(state);
	if (o->mpi && o->sweep)
		argp_error(state, "--mpi is for a single run; --sweep has --part");
	if (o->jobs && !o->sweep)
		argp_error(state, "--jobs is for --sweep");
	if (o->series && o->sweep)
		argp_error(state, "--series is for a single run");
	if ((o->results && !o->sweep) || (o->parts && !o->results))
		argp_error(state, "--results is for --sweep, and --part for --results");
	if (o->sweep && strcmp(o->file, "-") == 0)
		argp_error(state, "--sweep needs a file: standard input can be read once");
}

static const struct adv_option option_table[] = {
	{"set", 's', "KEY=VALUE",
	 "Replace a value of the file: run.duration=5ms, \"priority 3.xoff=40kB\"",
	 .read = add_set},
	{"seed", 0, "N", "As --set run.seed=N", .read = read_seed},
	{"csv", 0, "FOLDER", "Write transfers, events of switches and samples of queues as CSV",
	 ADV_OPTION_TEXT(csv)},
	{"series", 0, "FILE",
	 "Write samples of cables and queues, at every `sample` of [run], as JSON",
	 ADV_OPTION_TEXT(series)},
	{"report", 0, "FILE", "Write an HTML page with plots, which needs no other file",
	 ADV_OPTION_TEXT(report)},
	{"sweep", 0, "KEY=VALUES;...",
	 "Run all combinations of values, such as \"host.congestion-control=dcqcn,none; "
	 "run.seed=1..20\", and compare them",
	 ADV_OPTION_TEXT(sweep)},
	{"trace", 0, "FLOWS",
	 "Add the transfers of a file: CSV with from,to,bytes,start_ps, ns-3 HPCC's flow.txt, "
	 "htsim's connection matrix, or a GOAL file of LogGOPSim",
	 ADV_OPTION_TEXT(trace)},
	{"topology", 0, "NETWORK", "Read the network from ns-3 HPCC's topology.txt",
	 ADV_OPTION_TEXT(topology)},
	{"results", 0, "FOLDER",
	 "With --sweep: keep the result of each run here, and do only runs that have none",
	 ADV_OPTION_TEXT(results)},
	{"part", 0, "K/N",
	 "With --results: do only the Kth of N parts of the runs. The same command without --part "
	 "merges all results",
	 .read = read_part},
	{"jobs", 0, "N", "With --sweep: number of runs at a time (default 1)",
	 .unit = ADV_UNIT_COUNT, .least = 1, .most = JOBS, ADV_OPTION_INTO(jobs)},
	{"threads", 0, "N",
	 "Divide the network among N threads (default 1); the results are the same",
	 .unit = ADV_UNIT_COUNT, .least = 1, .most = THREADS, ADV_OPTION_INTO(threads)},
	{"mpi", 0, NULL,
	 "Divide the network among the ranks that mpirun has started, each with its --threads; the "
	 "results are the same",
	 ADV_OPTION_INTO(mpi)},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Run a scenario of the simulated lossless Ethernet, with the real transport in "
		 "each host. The same file and seed give the same output, byte for byte.\vAll "
		 "sections and keys of a scenario: " ADV_DOC_DIR "/simulator.md\n"
		 "Examples: " ADV_DOC_DIR "/scenarios",
	.check = check_options, .args = "FILE", .file = offsetof(struct options, file)};

static int run_once(struct options *o)
{
	struct adv_sim sim = {
		.file = o->file, .stop = ADV_FABRIC_UNTIL, .quiet = !adv_sim_ranks_lead(&o->ranks)};
	int status = ADV_EXIT_USAGE;

	if (prepare_run(&sim, o))
		status = sim.quiet ? follow_ranks(&sim) : run_and_report(&sim, o);
	adv_report_discard(sim.report);
	adv_sim_series_discard(&sim);
	adv_fabric_destroy(sim.fabric);
	adv_topology_free(&sim.topology);
	adv_scenario_free(&sim.scenario);
	return status;
}

int adv_sim_main(int argc, char **argv)
{
	struct options o = {.file = NULL};
	int status;

	if (!adv_command_read(&syntax, argc, argv, &o, &o.json))
		return ADV_EXIT_USAGE;
	if (o.sweep)
		return run_sweep(&o);
	if (o.mpi && !adv_sim_ranks_open(&o.ranks, argc, argv))
		return ADV_EXIT_FAILED;
	status = run_once(&o);
	adv_sim_ranks_close(&o.ranks);
	return status;
}
