/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb nvme bench. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/rng.h"
#include "storage/nvme_cli/command.h"
#include "storage/nvme_cli/host_command.h"

#define SECOND 1000000000ull

/* Latencies, in classes of 1/16 of a power of two. */
enum { CLASSES = 64 * 16 };

struct bench {
	const struct adv_nvme_run *run;
	const struct adv_nvme_host_options *o;
	struct adv_rng rng;
	uint64_t end, next, blocks;
	uint64_t commands, bytes;
	uint64_t classes[CLASSES];
};

static unsigned class_of(uint64_t ns)
{
	unsigned power;

	if (ns < 16)
		return (unsigned)ns;
	power = 63 - (unsigned)__builtin_clzll(ns);
	return (power - 3) * 16 + (unsigned)(ns >> (power - 4) & 15);
}

/* The upper end of a class, ns. */
static uint64_t end_of_class(unsigned class)
{
	if (class < 16)
		return class;
	return (uint64_t)(class % 16 + 17) << (class / 16 - 1);
}

static uint64_t latency_percentile(const struct bench *b, double part)
{
	uint64_t wanted = (uint64_t)((double)b->commands * part), seen = 0;

	for (unsigned i = 0; i < CLASSES; i++) {
		seen += b->classes[i];
		if (seen > wanted || (seen == b->commands && seen > 0))
			return end_of_class(i);
	}
	return 0;
}

static int fill_command(void *arg, uint64_t now, uint64_t *offset, uint32_t *length, uint8_t *data)
{
	struct bench *b = arg;
	uint64_t block =
		b->o->sequential ? b->next++ % b->blocks : adv_rng_below(&b->rng, b->blocks);

	if (now >= b->end)
		return -1;
	*offset = block * b->run->block;
	return adv_rng_below(&b->rng, 100) < b->o->writes ? ADV_NVME_WRITE : ADV_NVME_READ;
}

static bool count_command(void *arg, uint8_t opcode, uint64_t offset, uint32_t length,
			  const uint8_t *data, uint64_t ns)
{
	struct bench *b = arg;

	b->commands++;
	b->bytes += length;
	b->classes[class_of(ns)]++;
	return true;
}

static void print_result(const struct bench *b, uint64_t ns, bool json)
{
	static const double parts[] = {0.5, 0.9, 0.99, 0.999};
	static const char *const names[] = {"50", "90", "99", "99.9"};
	double seconds = (double)ns / (double)SECOND;
	struct json_object *top = json_object_new_object(), *latency = json_object_new_object();

	json_object_object_add(top, "iops", json_object_new_double((double)b->commands / seconds));
	json_object_object_add(top, "bw_bytes", json_object_new_double((double)b->bytes / seconds));
	json_object_object_add(top, "total_ios", json_object_new_uint64(b->commands));
	json_object_object_add(top, "runtime", json_object_new_uint64(ns / 1000000));
	if (!json)
		printf("%.0f IOPS, %.1f MB/s, latency", (double)b->commands / seconds,
		       (double)b->bytes / seconds / 1e6);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t value = latency_percentile(b, parts[i]);

		json_object_object_add(latency, names[i], json_object_new_uint64(value));
		if (!json)
			printf("%s %s%%: %.1f us", i ? "," : "", names[i], (double)value / 1000);
	}
	json_object_object_add(top, "lat_ns_percentile", latency);
	puts(json ? json_object_to_json_string_ext(top, JSON_C_TO_STRING_PRETTY) : "");
	json_object_put(top);
}

int adv_nvme_bench_main(int argc, char **argv)
{
	static struct bench b;
	struct adv_nvme_host_options o;
	struct adv_nvme_run run;
	uint64_t start;
	bool ok;

	adv_options_parse(&adv_nvme_bench_syntax, argc, argv, &o);
	if (!adv_nvme_run_open(&run, &o))
		return EXIT_FAILURE;
	run.quick = true;
	b.run = &run;
	b.o = &o;
	b.blocks = run.length / run.block;
	adv_rng_seed(&b.rng, o.seed);
	start = adv_clock_ns();
	b.end = start + o.seconds * SECOND;
	ok = b.blocks > 0;
	if (ok)
		ok = adv_nvme_run_commands(&run, fill_command, count_command, &b);
	else
		fprintf(stderr, "the range is smaller than a block\n");
	if (ok)
		print_result(&b, adv_clock_ns() - start, o.json);
	adv_nvme_run_close(&run);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
