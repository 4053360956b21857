/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/sim/sweep.h"

#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/sim/results.h"

#define VALUES_MAX 10000u
#define JSON_MAX   (64u << 20)
#define FLOWS_MAX  8

/* ---- the text ---- */

static bool fail_parsing(const char *text, const char *why)
{
	fprintf(stderr, "adverb sim: --sweep: '%s': %s\n", text, why);
	return false;
}

static bool add_value(struct adv_sweep_axis *a, const char *value, size_t len)
{
	char **set = reallocarray(a->set, a->values + 1ul, sizeof(*set));

	if (!set)
		return fail_parsing(a->key, "no memory");
	a->set = set;
	if (asprintf(&a->set[a->values], "%s=%.*s", a->key, (int)len, value) < 0)
		return fail_parsing(a->key, "no memory");
	a->values++;
	return true;
}

/* Adds the numbers of a range such as "1..20". *is_range: whether it is one. */
static bool add_range(struct adv_sweep_axis *a, const char *text, bool *is_range)
{
	unsigned long long first, last;
	char number[24];
	int end = 0;

	*is_range = sscanf(text, "%18llu..%18llu%n", &first, &last, &end) == 2 && text[end] == '\0';
	if (!*is_range)
		return true;
	if (last < first || last - first >= VALUES_MAX)
		return fail_parsing(text, "expected a range of 1 to 10000 numbers, such as 1..20");
	for (; first <= last; first++) {
		int n = snprintf(number, sizeof(number), "%llu", first);

		if (!add_value(a, number, (size_t)n))
			return false;
	}
	return true;
}

static char *trim_blanks(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Checks that no value occurs twice: a run that counts twice would narrow the confidence intervals.
 */
static bool check_repeats(const struct adv_sweep_axis *a)
{
	char **sorted = malloc((a->values + 1ul) * sizeof(*sorted));
	bool good = true;

	if (!sorted)
		return fail_parsing(a->key, "no memory");
	memcpy(sorted, a->set, a->values * sizeof(*sorted));
	qsort(sorted, a->values, sizeof(*sorted), by_text);
	for (uint32_t i = 1; good && i < a->values; i++)
		if (strcmp(sorted[i - 1], sorted[i]) == 0)
			good = fail_parsing(sorted[i], "the value is given twice");
	free(sorted);
	return good;
}

/* Parses "key=a,b,c". */
static bool parse_axis(struct adv_sweep *s, char *text)
{
	struct adv_sweep_axis *a = &s->axis[s->axes];
	char *equal = strchr(text, '='), *save, *value;
	bool is_range;

	if (!equal)
		return fail_parsing(text, "expected section.key=value,value");
	if (s->axes == ADV_SWEEP_AXES)
		return fail_parsing(text, "more than 8 keys");
	*equal = '\0';
	a->key = strdup(trim_blanks(text));
	s->axes++;
	if (!a->key)
		return fail_parsing(text, "no memory");
	a->is_seed = strcmp(a->key, "run.seed") == 0;
	for (unsigned i = 0; i + 1 < s->axes; i++)
		if (strcmp(s->axis[i].key, a->key) == 0)
			return fail_parsing(a->key, "the key is given twice");
	for (value = strtok_r(equal + 1, ",", &save); value; value = strtok_r(NULL, ",", &save)) {
		value = trim_blanks(value);
		if (!add_range(a, value, &is_range) ||
		    (!is_range && !add_value(a, value, strlen(value))))
			return false;
	}
	return a->values ? check_repeats(a) : fail_parsing(a->key, "no value");
}

bool adv_sweep_parse(struct adv_sweep *s, const char *text)
{
	char *copy = strdup(text), *save, *part;
	uint64_t runs = 1;
	bool good = copy || fail_parsing(text, "no memory");

	*s = (struct adv_sweep){.seeds = 1, .parts = 1};
	for (part = good ? strtok_r(copy, ";", &save) : NULL; good && part;
	     part = strtok_r(NULL, ";", &save))
		good = *trim_blanks(part) == '\0' || parse_axis(s, part);
	free(copy);
	if (good && s->axes == 0)
		good = fail_parsing(text, "expected section.key=value,value");
	for (unsigned i = 0; good && i < s->axes; i++) {
		runs *= s->axis[i].values;
		if (s->axis[i].is_seed)
			s->seeds = s->axis[i].values;
		if (runs > ADV_SWEEP_RUNS)
			good = fail_parsing(text, "more than 100000 runs");
	}
	s->runs = (uint32_t)runs;
	return good;
}

void adv_sweep_free(struct adv_sweep *s)
{
	for (unsigned i = 0; i < s->axes; i++) {
		for (uint32_t v = 0; v < s->axis[i].values; v++)
			free(s->axis[i].set[v]);
		free(s->axis[i].set);
		free(s->axis[i].key);
	}
	free(s->value);
	*s = (struct adv_sweep){.axes = 0};
}

const char *adv_sweep_set(const struct adv_sweep *s, uint32_t run, unsigned axis)
{
	uint32_t seed = run % s->seeds, rest = run / s->seeds;

	if (s->axis[axis].is_seed)
		return s->axis[axis].set[seed];
	for (unsigned i = s->axes; --i > axis;)
		if (!s->axis[i].is_seed)
			rest /= s->axis[i].values;
	return s->axis[axis].set[rest % s->axis[axis].values];
}

/* ---- metrics ---- */

static void set_metric(struct adv_sweep *s, uint32_t run, const char *name,
		       const struct json_object *value)
{
	unsigned m = 0;

	while (m < s->metrics && strcmp(s->metric[m], name) != 0)
		m++;
	if (!value || m == ADV_SWEEP_METRICS)
		return;
	if (m == s->metrics)
		snprintf(s->metric[s->metrics++], ADV_SWEEP_NAME, "%s", name);
	s->value[(size_t)run * ADV_SWEEP_METRICS + m] = json_object_get_double(value);
}

static void set_flow_metrics(struct adv_sweep *s, uint32_t run, struct json_object *flows)
{
	char name[ADV_SWEEP_NAME];

	for (size_t i = 0; i < json_object_array_length(flows) && i < FLOWS_MAX; i++) {
		struct json_object *flow = json_object_array_get_idx(flows, i), *fct;
		bool done;

		snprintf(name, sizeof(name), "flow %zu rate_bps", i);
		set_metric(s, run, name, json_object_object_get(flow, "rate_bps"));
		done = json_object_get_int64(json_object_object_get(flow, "done")) > 0;
		fct = done ? json_object_object_get(flow, "fct_ps") : NULL;
		snprintf(name, sizeof(name), "flow %zu fct_median_ps", i);
		set_metric(s, run, name, fct ? json_object_object_get(fct, "median") : NULL);
		snprintf(name, sizeof(name), "flow %zu fct_p99_ps", i);
		set_metric(s, run, name, fct ? json_object_object_get(fct, "p99") : NULL);
	}
}

static void set_slowdown_metrics(struct adv_sweep *s, uint32_t run, struct json_object *list)
{
	static const char *const shares[] = {"median", "p99"};
	char name[ADV_SWEEP_NAME];

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *b = json_object_array_get_idx(list, i);
		struct json_object *above = json_object_object_get(b, "bytes_above");

		for (unsigned k = 0; k < 2; k++) {
			snprintf(name, sizeof(name), "slowdown above %s B %s",
				 json_object_get_string(above), shares[k]);
			set_metric(s, run, name, json_object_object_get(b, shares[k]));
		}
	}
}

/* Takes the metrics of a run from its JSON. */
static void take_metrics(struct adv_sweep *s, uint32_t run, struct json_object *o)
{
	static const char *const totals[] = {"time_ps", "pause_frames", "ecn_marked", "buffer_most",
					     "packet_seq_err"};

	for (unsigned i = 0; i < 5; i++)
		set_metric(s, run, totals[i], json_object_object_get(o, totals[i]));
	set_flow_metrics(s, run, json_object_object_get(o, "flows"));
	set_slowdown_metrics(s, run, json_object_object_get(o, "slowdown"));
}

/* Describes a run for the folder of results. set[] has room for ADV_SWEEP_AXES values. */
static struct adv_result_key key_of(const struct adv_sweep *s, uint32_t run, const char *set[])
{
	for (unsigned i = 0; i < s->axes; i++)
		set[i] = adv_sweep_set(s, run, i);
	return (struct adv_result_key){
		.folder = s->results, .run = run, .input = s->input, .set = set, .sets = s->axes};
}

/* Takes the result that a run has written. False: it is not complete, or it could not be stored. */
static bool take_result(struct adv_sweep *s, uint32_t run, FILE *f)
{
	long len = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
	char *text = len > 0 && len < JSON_MAX ? malloc((size_t)len + 1) : NULL;
	const char *set[ADV_SWEEP_AXES];
	struct adv_result_key key = key_of(s, run, set);
	struct json_object *o = NULL;
	bool good = true;

	rewind(f);
	if (text && fread(text, 1, (size_t)len, f) == (size_t)len) {
		text[len] = '\0';
		o = json_tokener_parse(text);
	}
	free(text);
	if (!o) {
		fprintf(stderr, "adverb sim: run %u of the sweep: no result\n", run);
		return false;
	}
	take_metrics(s, run, o);
	if (s->results)
		good = adv_result_store(&key, o);
	json_object_put(o);
	return good;
}

/* ---- processes ---- */

/* A process and the file to which it writes. */
struct job {
	pid_t pid; /* 0: free */
	uint32_t run;
	FILE *out;
};

static bool start_job(const struct adv_sweep *s, struct job *j, uint32_t run, adv_sweep_run_fn *fn,
		      void *user)
{
	const char *set[ADV_SWEEP_AXES];
	pid_t parent = getpid();

	for (unsigned i = 0; i < s->axes; i++)
		set[i] = adv_sweep_set(s, run, i);
	*j = (struct job){.run = run, .out = tmpfile()};
	if (j->out)
		j->pid = fork();
	if (!j->out || j->pid < 0) {
		fprintf(stderr, "adverb sim: a process of the sweep: %s\n", strerror(errno));
		if (j->out)
			fclose(j->out);
		j->pid = 0;
		return false;
	}
	if (j->pid == 0) {
		int status;

		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(ADV_EXIT_FAILED);
		status = fn(user, set, s->axes, j->out);
		if (fflush(j->out))
			status = ADV_EXIT_FAILED;
		_exit(status);
	}
	return true;
}

/* Waits for one of the jobs. Returns its exit status, and frees it. */
static int end_job(struct adv_sweep *s, struct job *job, unsigned jobs)
{
	int wait_status = 0, status = ADV_EXIT_FAILED;
	pid_t pid;

	do {
		pid = wait(&wait_status);
	} while (pid < 0 && errno == EINTR);
	for (unsigned i = 0; i < jobs; i++) {
		if (job[i].pid == 0 || job[i].pid != pid)
			continue;
		if (WIFEXITED(wait_status))
			status = WEXITSTATUS(wait_status);
		else
			fprintf(stderr, "adverb sim: run %u of the sweep was ended by signal %d\n",
				job[i].run, WTERMSIG(wait_status));
		if (status == 0 && !take_result(s, job[i].run, job[i].out))
			status = ADV_EXIT_FAILED;
		fclose(job[i].out);
		job[i].pid = 0;
	}
	return status;
}

static unsigned free_job(const struct job *job, unsigned jobs)
{
	unsigned i = 0;

	while (i < jobs && job[i].pid)
		i++;
	return i;
}

/* Moves *run to the next one that is to be done, from itself on; s->runs: there is none. Takes the
 * results that the folder has. False: one of them is bad. */
static bool find_run(struct adv_sweep *s, uint32_t *run)
{
	for (; *run < s->runs; ++*run) {
		const char *set[ADV_SWEEP_AXES];
		struct adv_result_key key = key_of(s, *run, set);
		struct json_object *result;
		enum adv_result found;

		if (*run % s->parts != s->part)
			continue;
		found = s->results ? adv_result_load(&key, &result) : ADV_RESULT_NONE;
		if (found == ADV_RESULT_NONE)
			return true;
		if (found == ADV_RESULT_BAD)
			return false;
		take_metrics(s, *run, result);
		json_object_put(result);
	}
	return true;
}

static int run_jobs(struct adv_sweep *s, struct job *job, unsigned jobs, adv_sweep_run_fn *run,
		    void *user)
{
	uint32_t next = 0, running = 0;
	int status = find_run(s, &next) ? 0 : ADV_EXIT_USAGE;

	while ((status == 0 && next < s->runs) || running) {
		unsigned i = free_job(job, jobs);
		int ended;

		if (status == 0 && next < s->runs && i < jobs) {
			if (start_job(s, &job[i], next, run, user))
				running++;
			else
				status = ADV_EXIT_FAILED;
			next++;
			if (!find_run(s, &next))
				status = ADV_EXIT_USAGE;
			continue;
		}
		ended = end_job(s, job, jobs);
		status = status ? status : ended;
		running--;
	}
	return status;
}

int adv_sweep_run(struct adv_sweep *s, unsigned jobs, adv_sweep_run_fn *run, void *user)
{
	struct job *job = calloc(jobs, sizeof(*job));
	int status = ADV_EXIT_FAILED;

	s->value = malloc((size_t)s->runs * ADV_SWEEP_METRICS * sizeof(*s->value));
	if (!job || !s->value) {
		fprintf(stderr, "adverb sim: no memory\n");
	} else {
		for (size_t i = 0; i < (size_t)s->runs * ADV_SWEEP_METRICS; i++)
			s->value[i] = NAN;
		status = run_jobs(s, job, jobs, run, user);
	}
	free(job);
	return status;
}

/* ---- summaries ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Returns the largest k for which fewer than k of n values are below the median with a probability
 * of at most 2.5 %: the k-th values from both ends bound the median with 95 % confidence. 0: none.
 */
static uint32_t interval_rank(uint32_t n)
{
	double term = exp2(-(double)n), sum = 0;
	uint32_t k = 0;

	if (n > 1000) /* the normal approximation */
		return (uint32_t)floor((n - 1.96 * sqrt((double)n)) / 2);
	for (; sum + term <= 0.025; k++) {
		sum += term;
		term *= (double)(n - k) / (k + 1);
	}
	return k;
}

bool adv_sweep_summarize(const struct adv_sweep *s, uint32_t first, unsigned metric,
			 struct adv_sweep_summary *summary)
{
	double *sorted = malloc(s->seeds * sizeof(*sorted));
	uint32_t n = 0, k;

	if (!sorted) {
		fprintf(stderr, "adverb sim: no memory\n");
		return false;
	}
	for (uint32_t i = 0; i < s->seeds; i++) {
		double v = s->value[(size_t)(first + i) * ADV_SWEEP_METRICS + metric];

		if (!isnan(v))
			sorted[n++] = v;
	}
	*summary = (struct adv_sweep_summary){NAN, NAN, NAN, n};
	if (n) {
		qsort(sorted, n, sizeof(*sorted), by_value);
		summary->median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
		k = interval_rank(n);
		if (k) {
			summary->low = sorted[k - 1];
			summary->high = sorted[n - k];
		}
	}
	free(sorted);
	return true;
}
