/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/sim/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/sim/report_page.h"

struct adv_report {
	FILE *out;
	const char *path; /* owned by the caller */
	struct adv_record *record;
	const struct adv_emulator_flow *flow; /* of programs */
	uint32_t flows;
};

static void report_error(const char *path, int err)
{
	fprintf(stderr, "adverb sim: %s: %s\n", path, strerror(err));
}

struct adv_report *adv_report_open(const struct adv_sim *sim, const char *path)
{
	struct adv_report *r = calloc(1, sizeof(*r));
	int err = ENOMEM;

	if (r) {
		r->path = path;
		r->out = fopen(path, "w");
		err = errno;
	}
	if (r && r->out) {
		r->record = adv_record_create(sim);
		err = ENOMEM;
	}
	if (r && r->record)
		return r;
	report_error(path, err);
	adv_report_discard(r);
	return NULL;
}

uint64_t adv_report_next(const struct adv_report *r)
{
	return adv_record_next(r->record);
}

void adv_report_sample(struct adv_report *r, const struct adv_sim *sim)
{
	adv_record_sample(r->record, sim);
}

void adv_report_set_programs(struct adv_report *r, const struct adv_emulator_flow *flow,
			     uint32_t count)
{
	r->flow = flow;
	r->flows = count;
}

bool adv_report_close(struct adv_report *r, const struct adv_sim *sim)
{
	struct adv_report_part all = {r->out, sim, r->record, r->flow, r->flows};
	int err = 0;

	adv_record_finish(r->record, sim);
	if (r->record->no_memory || !adv_report_page(&all))
		err = ENOMEM;
	if (fflush(r->out) || ferror(r->out))
		err = err ? err : errno ? errno : EIO;
	if (fclose(r->out))
		err = err ? err : errno;
	r->out = NULL;
	if (err)
		report_error(r->path, err);
	return err == 0;
}

void adv_report_discard(struct adv_report *r)
{
	struct stat st;

	if (!r)
		return;
	if (r->out) {
		/* Only a regular file is removed, not a device or a pipe. */
		if (fstat(fileno(r->out), &st) == 0 && S_ISREG(st.st_mode))
			unlink(r->path);
		fclose(r->out);
	}
	adv_record_free(r->record);
	free(r);
}
