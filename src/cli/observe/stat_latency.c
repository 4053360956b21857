/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/observe/stat_latency.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "cli/command/json.h"
#include "cli/observe/latencies.h"
#include "cli/observe/objects.h"
#include "cli/observe/sample.h"

#define BAR 40 /* characters of the longest bar */

static const struct {
	const char *text, *key;
	double q;
} quantiles[] = {
	{"p50", "p50", 0.5}, {"p90", "p90", 0.9}, {"p99", "p99", 0.99}, {"p99.9", "p99_9", 0.999}};

void adv_duration_text(char text[ADV_DURATION_TEXT], uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double v = (double)ns;
	unsigned i = 0;

	for (; i < ADV_ARRAY_SIZE(units) - 1 && v >= 999.5; i++)
		v /= 1000;
	snprintf(text, ADV_DURATION_TEXT, "%.*f%s",
		 i == 0 || v >= 99.95 ? 0
		 : v >= 9.995	      ? 1
				      : 2,
		 v, units[i]);
}

/* Whose histogram is shown, with the counts. */
struct histogram {
	uint32_t pid;
	uint32_t qpn;
	uint64_t bucket[ADV_LATENCY_BUCKETS];
};

/* Reads the histogram of a queue pair. If it fails, prints an error and returns false. */
static bool read_qp(struct adv_control *c, const struct adv_stat_latency *wanted,
		    struct histogram *h)
{
	struct adv_objects qps, pieces = {0};
	bool good = adv_objects_read(&qps, c, ADV_RESOURCE_QP, wanted->pid), found = false;

	for (size_t i = 0; good && !found && i < qps.count; i++) {
		found = qps.list[i].number == wanted->qpn;
		h->pid = qps.list[i].pid;
	}
	if (good && !found)
		fprintf(stderr, "adverb stat: no such queue pair; adverb res qp lists them\n");
	if (found)
		found = adv_latencies_read(&pieces, c, h->pid);
	if (found)
		adv_latencies_of(&pieces, h->pid, wanted->qpn, h->bucket);
	adv_objects_free(&pieces);
	adv_objects_free(&qps);
	return found;
}

/* Reads the histogram of a process or of all. If it fails, prints an error and returns false. */
static bool read_process(struct adv_control *c, uint32_t pid, uint64_t bucket[ADV_LATENCY_BUCKETS])
{
	struct adv_sample s;
	bool good = adv_sample_read(&s, c) == 0, found = !pid;

	if (good && !pid)
		memcpy(bucket, s.total.work.send_latency, sizeof(s.total.work.send_latency));
	for (size_t i = 0; good && pid && i < s.count; i++) {
		if (s.process[i].pid != pid || !s.process[i].counted)
			continue;
		memcpy(bucket, s.process[i].counters.work.send_latency,
		       sizeof(s.total.work.send_latency));
		found = true;
	}
	if (!good)
		fprintf(stderr, "adverb stat: adverbd closed the connection\n");
	else if (!found)
		fprintf(stderr,
			"adverb stat: no such process uses the device; adverb status lists them\n");
	adv_sample_free(&s);
	return good && found;
}

/* Reads the wanted histogram. If it fails, prints an error and returns false. */
static bool read_histogram(struct adv_control *c, const struct adv_stat_latency *wanted,
			   struct histogram *h)
{
	*h = (struct histogram){.pid = wanted->pid, .qpn = wanted->qpn};
	return wanted->qpn ? read_qp(c, wanted, h) : read_process(c, wanted->pid, h->bucket);
}

static uint64_t lower_bound(unsigned bucket)
{
	return bucket ? adv_latency_bound(bucket - 1) : 0;
}

/* ---- text ---- */

static void print_buckets(const uint64_t bucket[ADV_LATENCY_BUCKETS])
{
	uint64_t most = 1;

	for (unsigned i = 0; i < ADV_LATENCY_BUCKETS; i++)
		most = bucket[i] > most ? bucket[i] : most;
	for (unsigned i = 0; i < ADV_LATENCY_BUCKETS; i++) {
		char from[ADV_DURATION_TEXT], to[ADV_DURATION_TEXT];
		int bar = (int)((double)bucket[i] * BAR / (double)most + 0.5);

		if (!bucket[i])
			continue;
		adv_duration_text(from, lower_bound(i));
		adv_duration_text(to, adv_latency_bound(i));
		printf("  %8s to %8s %14" PRIu64 " %.*s\n", from, to, bucket[i], bar,
		       "########################################");
	}
}

static void print_text(const struct histogram *h)
{
	const uint64_t *bucket = h->bucket;
	uint64_t count = adv_latency_count(bucket);
	char text[ADV_DURATION_TEXT], command[ADV_COMMAND_TEXT];

	adv_object_command(h->pid, command);
	if (h->qpn)
		printf("completion latency of queue pair 0x%06x of process %u (%s): ", h->qpn,
		       h->pid, command);
	else if (h->pid)
		printf("completion latency of process %u (%s): ", h->pid, command);
	else
		printf("completion latency of all programs: ");
	printf("%" PRIu64 " requests", count);
	adv_duration_text(text, count ? adv_latency_sum(bucket) / count : 0);
	if (count)
		printf(", mean %s", text);
	for (size_t i = 0; count && i < ADV_ARRAY_SIZE(quantiles); i++) {
		adv_duration_text(text, adv_latency_quantile(bucket, quantiles[i].q));
		printf(", %s %s", quantiles[i].text, text);
	}
	printf("\n");
	print_buckets(bucket);
}

/* ---- JSON ---- */

static void print_json(const struct histogram *h)
{
	const uint64_t *bucket = h->bucket;
	struct json_object *o = adv_json_object(), *list, *one;
	char command[ADV_COMMAND_TEXT], key[16];

	adv_json_add_text(o, "ifname", "adverb0");
	if (h->qpn)
		adv_json_add_number(o, "lqpn", h->qpn);
	if (h->pid) {
		adv_object_command(h->pid, command);
		adv_json_add_number(o, "pid", h->pid);
		adv_json_add_text(o, "comm", command);
	}
	adv_json_add_number(o, "requests", adv_latency_count(bucket));
	adv_json_add_number(o, "sum_ns", adv_latency_sum(bucket));
	for (size_t i = 0; i < ADV_ARRAY_SIZE(quantiles); i++) {
		snprintf(key, sizeof(key), "%s_ns", quantiles[i].key);
		adv_json_add_number(o, key, adv_latency_quantile(bucket, quantiles[i].q));
	}
	list = adv_json_add_array(o, "buckets");
	for (unsigned i = 0; i < ADV_LATENCY_BUCKETS; i++) {
		if (!bucket[i])
			continue;
		one = adv_json_object();
		adv_json_add_number(one, "from_ns", lower_bound(i));
		adv_json_add_number(one, "to_ns", adv_latency_bound(i));
		adv_json_add_number(one, "requests", bucket[i]);
		adv_json_append(list, one);
	}
	adv_json_print_line(stdout, o);
	printf("\n");
}

/* ---- reports ---- */

static void print_report(const struct adv_stat_latency *wanted, const struct histogram *h)
{
	if (wanted->json)
		print_json(h);
	else
		print_text(h);
	fflush(stdout);
}

bool adv_stat_latency(struct adv_control *c, const struct adv_stat_latency *wanted)
{
	const struct timespec pause = adv_clock_timespec(wanted->interval);
	struct histogram last, now, grown;

	if (!read_histogram(c, wanted, &last))
		return false;
	if (!wanted->interval) {
		print_report(wanted, &last);
		return true;
	}
	for (uint32_t i = 0; !wanted->count || i < wanted->count; i++) {
		nanosleep(&pause, NULL);
		if (!read_histogram(c, wanted, &now))
			return false;
		grown = now;
		for (unsigned k = 0; k < ADV_LATENCY_BUCKETS; k++) {
			grown.bucket[k] -= last.bucket[k];
			if (now.qpn)
				grown.bucket[k] = (uint32_t)grown.bucket[k];
		}
		print_report(wanted, &grown);
		last = now;
	}
	return true;
}
