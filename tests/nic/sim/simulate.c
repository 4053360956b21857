/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs one seed with a trace of its packets, or many seeds and prints sums, or the corpus. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sim.h"

#define JOBS_MAX 64

struct options {
	uint64_t first;
	uint64_t last;
	uint64_t operations;
	unsigned seconds;
	unsigned jobs;
	bool trace;
	bool has_seed;
	bool has_plan;
	bool keep_going;
	bool compare;
	const char *corpus;
	struct adv_fault_plan plan;
};

static const struct argp_option argp_options[] = {
	{"seed", 's', "N", 0, "Run this seed", 0},
	{"seeds", 'S', "A..B", 0, "Run all from A to B, and print figures", 0},
	{"corpus", 'c', "FILE", 0,
	 "Run the seeds of a file first: lines of seed, fingerprint, what it taught", 0},
	{"seconds", 't', "N", 0, "Stop after so many seconds", 0},
	{"jobs", 'j', "N", 0, "Run so many seeds at a time, each in a process of its own (1)", 0},
	{"operations", 'n', "M", 0, "Post M requests a seed (5000)", 0},
	{"plan", 'p', "PLAN", 0, "Disturb the network so, see docs/faults.md", 0},
	{"trace", 'T', NULL, 0, "Print each packet and completion", 0},
	{"compare", 'C', NULL, 0,
	 "Run each seed again without the engine's fast path, and compare packets, completions, "
	 "events, counters and memory",
	 0},
	{"keep-going", 'k', NULL, 0, "Go on after a violation", 0},
	{0},
};

static void read_plan(struct options *o, const char *text, struct argp_state *state)
{
	struct adv_fault_error error;
	char shown[512];

	o->has_plan = true;
	if (adv_fault_plan_parse(&o->plan, text, strlen(text), &error))
		return;
	adv_fault_error_print(&error, text, strlen(text), shown, sizeof(shown));
	argp_error(state, "--plan: %s", shown);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	char *dots;

	switch (key) {
	case 's':
		o->first = o->last = strtoull(arg, NULL, 0);
		o->has_seed = true;
		return 0;
	case 'S':
		dots = strstr(arg, "..");
		if (!dots) {
			argp_error(state, "--seeds: A..B is wanted, such as 1..100");
			return EINVAL;
		}
		o->first = strtoull(arg, NULL, 0);
		o->last = strtoull(dots + 2, NULL, 0);
		o->has_seed = true;
		return 0;
	case 'c':
		o->corpus = arg;
		return 0;
	case 't':
		o->seconds = (unsigned)strtoul(arg, NULL, 0);
		return 0;
	case 'j':
		o->jobs = (unsigned)strtoul(arg, NULL, 0);
		if (o->jobs < 1 || o->jobs > JOBS_MAX)
			argp_error(state, "--jobs: 1 to %d", JOBS_MAX);
		return 0;
	case 'n':
		o->operations = strtoull(arg, NULL, 0);
		return 0;
	case 'p':
		read_plan(o, arg, state);
		return 0;
	case 'T':
		o->trace = true;
		return 0;
	case 'C':
		o->compare = true;
		return 0;
	case 'k':
		o->keep_going = true;
		return 0;
	case ARGP_KEY_END:
		if (!o->has_seed && !o->corpus)
			argp_error(state, "--seed, --seeds or --corpus is wanted");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static volatile uint64_t running;

/* Prints the seed of a failed assertion or a crash. */
static void on_signal(int number)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "seed %llu: signal %d\n", (unsigned long long)running,
			 number);

	(void)!write(STDOUT_FILENO, text, (size_t)n);
	signal(number, SIG_DFL);
	raise(number);
}

static double seconds(void)
{
	return (double)adv_clock_ns() * 1e-9;
}

struct tally {
	struct totals total;
	unsigned seeds;
	unsigned violating;
	double began;
};

/* Runs a seed with the fast path, and again without it. False: a violation, which is printed, or
 * the two runs differ. */
static bool compare_paths(struct run run, struct totals *sum)
{
	struct history fast = {0}, general = {0};
	struct totals again = {0};
	bool good;

	run.history = &fast;
	good = simulate(&run, sum);
	run.history = &general;
	run.no_fast_path = true;
	good = simulate(&run, &again) && good;
	good = history_same(&fast, &general, run.seed) && good;
	history_free(&fast);
	history_free(&general);
	return good;
}

/* Runs a seed. False: no further seed is to be run. */
static bool run_seed(const struct options *o, struct tally *t, uint64_t seed, uint64_t fingerprint)
{
	struct run run = {.seed = seed,
			  .fingerprint = fingerprint,
			  .operations = o->operations,
			  .plan = o->has_plan ? &o->plan : NULL,
			  .trace = o->trace};

	running = seed;
	t->seeds++;
	if (!(o->compare ? compare_paths(run, &t->total) : simulate(&run, &t->total))) {
		t->violating++;
		fflush(stdout);
		return o->keep_going;
	}
	return !o->seconds || seconds() - t->began < o->seconds;
}

static bool run_corpus(const struct options *o, struct tally *t)
{
	FILE *f = fopen(o->corpus, "r");
	char line[1024];
	unsigned long long seed, fingerprint;
	bool more = true;

	if (!f) {
		perror(o->corpus);
		exit(2);
	}
	while (more && fgets(line, sizeof(line), f)) {
		if (line[0] == '#')
			continue;
		if (sscanf(line, "%llu %16llx ", &seed, &fingerprint) != 2) {
			fprintf(stderr, "%s: not a seed and a fingerprint: %s", o->corpus, line);
			exit(2);
		}
		more = run_seed(o, t, seed, fingerprint);
	}
	fclose(f);
	return more;
}

/* Runs the seeds of job n: every jobs-th seed. */
static void run_share(const struct options *o, struct tally *t, unsigned n)
{
	bool more = true;

	for (uint64_t seed = o->first + n; more && seed <= o->last; seed += o->jobs)
		more = run_seed(o, t, seed, 0);
}

/* Runs seeds in a child, which writes its sums to a pipe. Returns the reading end. */
static int start_job(const struct options *o, unsigned n)
{
	struct tally t = {.began = seconds()};
	int ends[2];

	if (pipe(ends) != 0) {
		perror("pipe");
		exit(2);
	}
	fflush(stdout);
	switch (fork()) {
	case -1:
		perror("fork");
		exit(2);
	case 0:
		run_share(o, &t, n);
		fflush(stdout);
		_exit(write(ends[1], &t, sizeof(t)) == sizeof(t) ? 0 : 2);
	default:
		close(ends[1]);
		return ends[0];
	}
}

static void run_jobs(const struct options *o, struct tally *sum)
{
	int from[JOBS_MAX];
	struct tally t;

	for (unsigned i = 0; i < o->jobs; i++)
		from[i] = start_job(o, i);
	for (unsigned i = 0; i < o->jobs; i++) {
		/* A crashed child has printed its seed. */
		if (read(from[i], &t, sizeof(t)) != sizeof(t))
			t = (struct tally){.violating = 1};
		close(from[i]);
		sum->seeds += t.seeds;
		sum->violating += t.violating;
		add_totals(&sum->total, &t.total);
	}
	while (wait(NULL) > 0)
		;
}

static void print_figures(const struct tally *t)
{
	const struct totals *c = &t->total;
	double took = seconds() - t->began;

	printf("%u seeds, %llu operations (%.0f a second), %llu events (%.0f a second) in %.1f s\n",
	       t->seeds, (unsigned long long)c->operations, (double)c->operations / took,
	       (unsigned long long)c->events, (double)c->events / took, took);
	printf("%llu packets, %llu impaired; %llu messages and %llu datagrams received, %llu of "
	       "groups\n",
	       (unsigned long long)c->packets, (unsigned long long)c->impaired,
	       (unsigned long long)c->received, (unsigned long long)c->datagrams,
	       (unsigned long long)c->grouped);
	printf("%llu errors, %llu requests flushed, %llu crashes, %llu troubles, %llu connections "
	       "made again\n",
	       (unsigned long long)c->failures, (unsigned long long)c->flushed,
	       (unsigned long long)c->crashes, (unsigned long long)c->troubles,
	       (unsigned long long)c->reconnects);
	printf("%llu connections made by the connection manager, with %llu messages\n",
	       (unsigned long long)c->managed, (unsigned long long)c->mads);
	printf("%llu memory windows bound, %llu regions withdrawn, %llu CQs overrun\n",
	       (unsigned long long)c->bound, (unsigned long long)c->withdrawn,
	       (unsigned long long)c->overruns);
	printf("%llu long packets; %llu payloads read from their sender, %llu could not be read\n",
	       (unsigned long long)c->longs, (unsigned long long)c->pulls,
	       (unsigned long long)c->unread);
	printf("%u violations\n", t->violating);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		argp_options, parse_option,
		NULL,	      "Systems of transport engines in virtual time, from a seed.",
		NULL,	      NULL,
		NULL};
	struct options o = {.jobs = 1};
	struct tally t = {0};
	bool more = true;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	signal(SIGABRT, on_signal);
	signal(SIGSEGV, on_signal);
	t.began = seconds();
	if (o.corpus)
		more = run_corpus(&o, &t);
	if (o.has_seed && more && o.jobs > 1)
		run_jobs(&o, &t);
	else if (o.has_seed && more)
		run_share(&o, &t, 0);
	print_figures(&t);
	return t.violating ? 1 : 0;
}
