/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the CSV files of a run. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/sim/run.h"
#include "fabric/network/calendar.h"

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
	sim->cables = open_csv(folder, "cables.csv",
			       "time_ps,cable,from,to,bytes,frames_in_all,waiting_bytes\n");
	if (sim->pauses && sim->queues && sim->cables)
		return true;
	if (sim->pauses)
		fclose(sim->pauses);
	if (sim->queues)
		fclose(sim->queues);
	if (sim->cables)
		fclose(sim->cables);
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
			const struct adv_fabric_connection *c;

			if (t->connection == ADV_FABRIC_COMPUTATION)
				continue;
			fprintf(f, "%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", i, t->connection,
				t->bytes, t->done, t->start);
			c = adv_fabric_get_connection(sim->fabric, t->connection);
			if (t->end == ADV_CALENDAR_NEVER)
				fprintf(f, ",,");
			else
				fprintf(f, "%" PRIu64 ",%d,", t->end, t->status);
			fprintf(f, "%u,%u,%" PRIu64 "\n", c->initiator, c->target,
				adv_fabric_ideal(sim->fabric, t->connection, t->bytes));
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

/* Writes a file at the end of the run. */
static bool write_csv(struct adv_sim *sim, const char *folder, const char *name, const char *head,
		      void (*write)(const struct adv_sim *sim, FILE *f))
{
	FILE *f = open_csv(folder, name, head);

	if (!f)
		return false;
	write(sim, f);
	return close_csv(f, folder);
}

static bool write_slowdown(const struct adv_sim *sim, const char *folder)
{
	struct adv_sim_bucket bucket[ADV_SIM_BUCKETS];
	FILE *f = open_csv(folder, "slowdown.csv",
			   "bytes_above,bytes_to,count,mean,median,p95,p99\n");
	bool good = f && adv_sim_slowdown(sim, bucket);

	if (good)
		adv_sim_write_slowdown(bucket, f);
	else if (f)
		fprintf(stderr, "adverb sim: no memory\n");
	return (!f || close_csv(f, folder)) && good;
}

bool adv_sim_csv_close(struct adv_sim *sim, const char *folder)
{
	bool good =
		write_csv(sim, folder, "transfers.csv",
			  "flow,connection,bytes,done,start_ps,end_ps,status,from,to,ideal_ps\n",
			  write_transfers);

	good &= write_csv(sim, folder, "connections.csv", "connection,from,to,operation,dscp\n",
			  adv_sim_write_connections);
	good &= write_csv(sim, folder, "pauses.csv", "cable,paused,by,priority,pauses,paused_ps\n",
			  adv_sim_write_pauses);
	good &= write_slowdown(sim, folder);
	good &= close_csv(sim->cables, folder);
	good &= close_csv(sim->pauses, folder);
	good &= close_csv(sim->queues, folder);
	return good;
}
