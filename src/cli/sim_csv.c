/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the CSV files of a run. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/sim_run.h"
#include "fabric/calendar.h"

static FILE *open_csv(const char *folder, const char *name, const char *head)
{
	char path[4096];
	FILE *f = NULL;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) < sizeof(path))
		f = fopen(path, "w");
	else
		errno = ENAMETOOLONG;
	if (f)
		fputs(head, f);
	else
		fprintf(stderr, "adverb sim: %s/%s: %s\n", folder, name, strerror(errno));
	return f;
}

bool adv_sim_csv_open(struct adv_sim *sim, const char *folder)
{
	if (mkdir(folder, 0777) && errno != EEXIST) {
		fprintf(stderr, "adverb sim: %s: %s\n", folder, strerror(errno));
		return false;
	}
	sim->pauses = open_csv(folder, "events.csv", "time_ps,switch,port,priority,event,value\n");
	sim->queues = open_csv(folder, "queues.csv", "time_ps,switch,port,priority,bytes\n");
	if (sim->pauses && sim->queues)
		return true;
	if (sim->pauses)
		fclose(sim->pauses);
	if (sim->queues)
		fclose(sim->queues);
	return false;
}

static void write_transfers(const struct adv_sim *sim, FILE *f)
{
	const struct adv_scenario_list *l = &sim->scenario.list[ADV_SCENARIO_FLOWS];
	const struct adv_scenario_flow *flow = l->item;

	for (uint32_t i = 0; i < l->count; i++)
		for (uint32_t k = 0; k < flow[i].jobs; k++) {
			const struct adv_fabric_transfer_state *t =
				adv_fabric_get_transfer(sim->fabric, flow[i].first_job + k);

			if (t->connection == ADV_FABRIC_COMPUTATION)
				continue;
			fprintf(f, "%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", i, t->connection,
				t->bytes, t->done, t->start);
			if (t->end == ADV_CALENDAR_NEVER)
				fprintf(f, ",\n");
			else
				fprintf(f, "%" PRIu64 ",%d\n", t->end, t->status);
		}
}

/* Closes a file. False: it was not written completely. */
static bool close_csv(FILE *f, const char *folder)
{
	bool bad = ferror(f);

	if (fclose(f) || bad) {
		fprintf(stderr, "adverb sim: %s: %s\n", folder, strerror(errno));
		return false;
	}
	return true;
}

bool adv_sim_csv_close(struct adv_sim *sim, const char *folder)
{
	FILE *transfers = open_csv(folder, "transfers.csv",
				   "flow,connection,bytes,done,start_ps,end_ps,status\n");
	bool good = transfers != NULL;

	if (transfers) {
		write_transfers(sim, transfers);
		good &= close_csv(transfers, folder);
	}
	good &= close_csv(sim->pauses, folder);
	good &= close_csv(sim->queues, folder);
	return good;
}
