/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_cli/host_command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/siphash.h"
#include "base/bytes.h"

#define NQN_PREFIX "nqn.2014-08.org.nvmexpress:uuid:"
enum { KEEP_ALIVE_MS = 15000 };

/* --- connecting --- */

/* The identifier is a hash of the name, so that both always belong together. */
static void host_id_of(const char *nqn, uint8_t id[ADV_NVME_HOST_ID_LEN])
{
	static const uint64_t key[2] = {0x686f7374, 1};
	uint64_t words[ADV_NVME_NQN_LEN / 8] = {0};

	memcpy(words, nqn, strlen(nqn));
	adv_put_le64(id, adv_siphash_words(key, words, ADV_NVME_NQN_LEN / 8));
	adv_put_le64(id + 8, adv_siphash(key, adv_get_le64(id)));
}

/* Makes the name from /etc/machine-id, without revealing it; without the file, a random name. */
static void default_host_nqn(char nqn[ADV_NVME_NQN_LEN])
{
	static const uint64_t key[2] = {0x61647665726200, 2};
	uint64_t words[4] = {0}, high, low;
	FILE *f = fopen("/etc/machine-id", "re");

	if (!f || fread(words, 1, sizeof(words), f) != sizeof(words)) {
		if (getrandom(words, sizeof(words), 0) < 0)
			words[0] = 1;
	}
	if (f)
		fclose(f);
	high = adv_siphash_words(key, words, 4);
	low = adv_siphash(key, high);
	snprintf(nqn, ADV_NVME_NQN_LEN, NQN_PREFIX "%08x-%04x-4%03x-8%03x-%012llx",
		 (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xfff),
		 (unsigned)(low >> 52), (unsigned long long)(low & 0xffffffffffffull));
}

struct adv_nvme_association *adv_nvme_cli_connect(const struct adv_nvme_host_options *o,
						  const char *nqn, uint16_t io_queues,
						  size_t memory)
{
	struct adv_nvme_host_config config = {.io_queues = io_queues,
					      .queue_size = (uint16_t)(o->depth + 1),
					      .kato = KEEP_ALIVE_MS};
	struct adv_nvme_association *a;
	struct adv_kit_address address;
	char why[256];

	if (!adv_nvme_nqn_valid(nqn) || (o->host_nqn && !adv_nvme_nqn_valid(o->host_nqn))) {
		fprintf(stderr, "'%s' is not an NVMe qualified name\n",
			adv_nvme_nqn_valid(nqn) ? o->host_nqn : nqn);
		return NULL;
	}
	if (!adv_kit_address_parse(o->address, o->port, false, &address))
		return NULL;
	strncpy(config.subsystem_nqn, nqn, ADV_NVME_NQN_MAX);
	if (o->host_nqn)
		strncpy(config.host_nqn, o->host_nqn, ADV_NVME_NQN_MAX);
	else
		default_host_nqn(config.host_nqn);
	host_id_of(config.host_nqn, config.host_id);
	a = adv_nvme_association_open(&address, &config, memory, o->invalidate, why);
	if (!a)
		fprintf(stderr, "%s port %s: %s\n", address.host, address.port, why);
	return a;
}

static bool report_status(const struct adv_nvme_command *command, bool admin, uint16_t status)
{
	if (status != ADV_NVME_SUCCESS)
		fprintf(stderr, "%s: %s\n", adv_nvme_command_name(command, admin),
			status == 0xffff ? "the connection is lost" : adv_nvme_status_name(status));
	return status == ADV_NVME_SUCCESS;
}

bool adv_nvme_cli_admin(struct adv_nvme_association *a, const struct adv_nvme_command *command,
			uint32_t length)
{
	struct adv_nvme_transfer t = {
		.command = *command, .data = adv_nvme_association_memory(a), .length = length};

	return report_status(command, true, adv_nvme_association_run(a, 0, &t));
}

bool adv_nvme_cli_namespace(struct adv_nvme_association *a, uint32_t nsid,
			    struct adv_nvme_identify_namespace *ns)
{
	struct adv_nvme_command command = {.opcode = ADV_NVME_IDENTIFY, .nsid = nsid};

	ADV_NVME_CDW(&command, 10) = ADV_NVME_CNS_NAMESPACE;
	if (!adv_nvme_cli_admin(a, &command, ADV_NVME_IDENTIFY_LEN))
		return false;
	adv_nvme_identify_namespace_decode(adv_nvme_association_memory(a), ns);
	if (ns->nsze == 0) {
		fprintf(stderr, "the subsystem has no namespace %u\n", nsid);
		return false;
	}
	if (ns->block_shift < 9 || ns->block_shift > 20 || ns->metadata != 0 ||
	    ns->nsze > (uint64_t)INT64_MAX >> ns->block_shift) {
		fprintf(stderr, "namespace %u has a format that is not supported\n", nsid);
		return false;
	}
	return true;
}

/* --- runs --- */

static bool check_range(struct adv_nvme_run *run, const struct adv_nvme_host_options *o,
			const struct adv_nvme_identify_namespace *ns)
{
	uint64_t size = ns->nsze << ns->block_shift, mask = (1u << ns->block_shift) - 1;
	const struct adv_nvme_host *host = adv_nvme_association_host(run->a);

	if ((o->block & mask) || (o->offset & mask) || (o->length & mask)) {
		fprintf(stderr,
			"block size, offset and size must be multiples of the namespace's block of "
			"%u bytes\n",
			1u << ns->block_shift);
		return false;
	}
	if (host->controller.mdts && host->controller.mdts < 16 &&
	    o->block > 1u << (host->controller.mdts + ADV_NVME_PAGE_SHIFT)) {
		fprintf(stderr, "the controller transfers at most %u bytes with a command\n",
			1u << (host->controller.mdts + ADV_NVME_PAGE_SHIFT));
		return false;
	}
	if (o->offset >= size || o->length > size - o->offset) {
		fprintf(stderr, "the range goes beyond the end of the namespace of %llu bytes\n",
			(unsigned long long)size);
		return false;
	}
	run->offset = o->offset;
	run->length = o->length ? o->length : size - o->offset;
	run->block_shift = ns->block_shift;
	return true;
}

static size_t memory_of(const struct adv_nvme_run *run)
{
	size_t memory = (size_t)run->slots * run->block;

	return memory < ADV_NVME_IDENTIFY_LEN ? ADV_NVME_IDENTIFY_LEN : memory;
}

/* The controller may grant fewer and shorter queues than the options name. */
static void limit_slots(struct adv_nvme_run *run)
{
	const struct adv_nvme_host *host = adv_nvme_association_host(run->a);
	unsigned most = host->io_queues * (host->size - 1u);

	if (run->slots <= most)
		return;
	fprintf(stderr, "the controller takes %u commands at once\n", most);
	run->slots = most;
}

bool adv_nvme_run_open(struct adv_nvme_run *run, const struct adv_nvme_host_options *o)
{
	struct adv_nvme_identify_namespace ns;

	memset(run, 0, sizeof(*run));
	run->o = o;
	run->nsid = o->nsid;
	run->block = o->block;
	run->slots = (unsigned)o->queues * o->depth;
	run->a = adv_nvme_cli_connect(o, o->nqn, o->queues, memory_of(run));
	if (!run->a)
		return false;
	limit_slots(run);
	if (adv_nvme_cli_namespace(run->a, o->nsid, &ns) && check_range(run, o, &ns))
		return true;
	adv_nvme_run_close(run);
	return false;
}

void adv_nvme_run_close(struct adv_nvme_run *run)
{
	if (run->a)
		adv_nvme_association_close(run->a);
	run->a = NULL;
}

/* Replaces the lost association by a new one with the same data. False: prints the reason. */
static bool reopen_run(struct adv_nvme_run *run)
{
	struct adv_nvme_run again;

	if (!adv_nvme_run_open(&again, run->o))
		return false;
	if (again.block_shift != run->block_shift || again.length != run->length ||
	    again.slots < run->slots) {
		fprintf(stderr, "the controller or its namespace has changed\n");
		adv_nvme_run_close(&again);
		return false;
	}
	memcpy(adv_nvme_association_memory(again.a), adv_nvme_association_memory(run->a),
	       memory_of(run));
	again.reconnects = run->reconnects + 1;
	again.quick = run->quick;
	adv_nvme_run_close(run);
	*run = again;
	return true;
}

/* Reconnects after a loss, a try a second. False: prints the reason. */
static bool reconnect_run(struct adv_nvme_run *run)
{
	uint64_t end = adv_clock_ns() + run->o->loss_seconds * 1000000000ull;

	if (!run->o->loss_seconds)
		return false;
	fprintf(stderr, "the connection is lost; reconnecting for up to %u s\n",
		run->o->loss_seconds);
	while (!reopen_run(run)) {
		if (adv_clock_ns() >= end)
			return false;
		sleep(1);
	}
	return true;
}

struct slot {
	struct adv_nvme_transfer transfer;
	uint64_t offset, start;
	bool lost; /* the command is repeated on the next connection */
};

struct loop {
	struct adv_nvme_run *run;
	adv_nvme_fill_fn *fill;
	void *arg;
	unsigned busy;
	uint64_t now;  /* when the last command was found to have ended */
	bool finished; /* nothing is left to do */
	bool lost;     /* the association */
};

/* Sends the command of a slot, for the first time or again. False: prints the reason. */
static bool send_command(struct loop *l, struct slot *s, unsigned index)
{
	struct adv_nvme_run *run = l->run;
	const struct adv_nvme_host *host = adv_nvme_association_host(run->a);
	struct adv_nvme_transfer *t = &s->transfer;
	int err;

	t->data = adv_nvme_association_memory(run->a) + (size_t)index * run->block;
	s->lost = false;
	err = adv_nvme_association_start(run->a, (uint16_t)(1 + index % host->io_queues), t);
	if (err == ENOTCONN && run->o->loss_seconds) {
		s->lost = l->lost = true;
		return true;
	}
	if (err)
		fprintf(stderr, "cannot send a command: %s\n", strerror(err));
	else
		l->busy++;
	if (!run->quick)
		adv_nvme_association_flush(run->a);
	return err == 0;
}

/* Starts the next command in a slot. False: prints the reason. */
static bool start_command(struct loop *l, struct slot *s, unsigned index)
{
	struct adv_nvme_run *run = l->run;
	struct adv_nvme_transfer *t = &s->transfer;
	int opcode;

	memset(t, 0, sizeof(*t));
	t->data = adv_nvme_association_memory(run->a) + (size_t)index * run->block;
	t->length = run->block;
	opcode = l->fill(l->arg, l->now, &s->offset, &t->length, t->data);
	if (opcode < 0) {
		l->finished = true;
		return true;
	}
	t->user = s;
	t->command.opcode = (uint8_t)opcode;
	t->command.nsid = run->nsid;
	adv_nvme_command_set_blocks(&t->command, (run->offset + s->offset) >> run->block_shift,
				    t->length >> run->block_shift);
	s->start = l->now;
	return send_command(l, s, index);
}

/* Handles a finished command. False: prints the reason, or `done` wants to stop. */
static bool finish_command(struct loop *l, struct adv_nvme_transfer *t, adv_nvme_done_fn *done)
{
	struct slot *s = t->user;

	l->busy--;
	if (t->lost && l->run->o->loss_seconds) {
		s->lost = l->lost = true;
		return true;
	}
	if (!report_status(&t->command, false, t->lost ? 0xffff : t->completion.status))
		return false;
	return done(l->arg, t->command.opcode, s->offset, t->length, t->data, l->now - s->start);
}

/* Reconnects, and sends the commands that were under way. False: prints the reason. */
static bool repeat_lost(struct loop *l, struct slot *slots)
{
	bool ok = reconnect_run(l->run);

	l->lost = false;
	for (unsigned i = 0; ok && i < l->run->slots; i++) {
		if (slots[i].lost)
			ok = send_command(l, &slots[i], i);
	}
	return ok;
}

/* Waits for one command, and starts the next one in its slot. */
static bool advance_slot(struct loop *l, struct slot *slots, bool ok, adv_nvme_done_fn *done)
{
	struct adv_nvme_transfer *t = adv_nvme_association_next(l->run->a, 10000);
	struct slot *s;

	if (!t) {
		fprintf(stderr, "no answer within 10 s\n");
		adv_nvme_run_close(l->run);
		exit(EXIT_FAILURE);
	}
	s = t->user;
	l->now = adv_nvme_association_now(l->run->a);
	ok &= finish_command(l, t, done);
	if (ok && !l->finished && !l->lost)
		ok = start_command(l, s, (unsigned)(s - slots));
	return ok;
}

bool adv_nvme_run_commands(struct adv_nvme_run *run, adv_nvme_fill_fn *fill, adv_nvme_done_fn *done,
			   void *arg)
{
	struct slot *slots = calloc(run->slots, sizeof(*slots));
	struct loop l = {.run = run, .fill = fill, .arg = arg, .now = adv_clock_ns()};
	bool ok = slots != NULL;

	for (unsigned i = 0; ok && i < run->slots && !l.finished && !l.lost; i++)
		ok = start_command(&l, &slots[i], i);
	while (l.busy > 0 || (ok && l.lost)) {
		if (l.busy > 0)
			ok = advance_slot(&l, slots, ok, done);
		else
			ok = repeat_lost(&l, slots);
	}
	free(slots);
	return ok;
}

bool adv_nvme_run_flush(struct adv_nvme_run *run)
{
	struct adv_nvme_transfer t;
	uint16_t status;

	do {
		t = (struct adv_nvme_transfer){
			.command = {.opcode = ADV_NVME_FLUSH, .nsid = run->nsid}};
		status = adv_nvme_association_run(run->a, 1, &t);
	} while (status == 0xffff && reconnect_run(run));
	return report_status(&t.command, false, status);
}
