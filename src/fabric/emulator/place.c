/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of hosts, and which processes are on them. `adverb run --host` enters a host and then
 * becomes the program, by execve(2), which keeps its process id. A host is free if no such process
 * runs there. A pattern selects the host with the fewest such processes; of several, the first.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fnmatch.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fabric/emulator/internal.h"

#define PLACED_MOST 8192

/* ---- names ---- */

/* Returns the host that a text names: "h3", "3", or its IPv4 address. UINT32_MAX: none. */
static uint32_t host_named(const struct adv_emulator *e, const char *text)
{
	struct in_addr address;
	unsigned long n;
	char *end;

	if (inet_pton(AF_INET, text, &address) == 1) {
		n = (uint32_t)(ntohl(address.s_addr) - e->place.network);
		return n < e->place.hosts ? (uint32_t)n : UINT32_MAX;
	}
	if (*text == 'h')
		text++;
	if (*text < '0' || *text > '9')
		return UINT32_MAX;
	n = strtoul(text, &end, 10);
	return *end || n >= e->place.hosts ? UINT32_MAX : (uint32_t)n;
}

/* True if a pattern matches the name of a host, or of a port. */
static bool pattern_matches(const struct adv_topology *t, const char *pattern,
			    const struct adv_link_end *end)
{
	char name[EMULATOR_END_NAME];

	adv_emulator_name_end(t, end, name);
	return fnmatch(pattern, name, 0) == 0;
}

/* Sets matched[host] for each host at a port of a switch, such as "s1:4", that a pattern matches.
 */
static void match_ports(const struct adv_topology *t, const char *pattern, bool *matched)
{
	for (uint32_t i = 0; i < t->links; i++)
		for (unsigned k = 0; k < 2; k++) {
			const struct adv_link_end *host = &t->link[i].end[k];
			const struct adv_link_end *port = &t->link[i].end[1 - k];

			if (host->node < t->hosts && port->node >= t->hosts &&
			    pattern_matches(t, pattern, port))
				matched[host->node] = true;
		}
}

/* Returns the host with the fewest placed processes that a pattern matches. UINT32_MAX: none. */
static uint32_t least_placed(const struct adv_emulator *e, const char *pattern)
{
	const struct adv_topology *t = e->config.topology;
	bool matched[ADV_EMULATOR_HOSTS] = {false};
	uint32_t best = UINT32_MAX;

	match_ports(t, pattern, matched);
	for (uint32_t i = 0; i < e->place.hosts; i++) {
		if (!matched[i] && !pattern_matches(t, pattern, &(struct adv_link_end){.node = i}))
			continue;
		if (best == UINT32_MAX || e->host[i].placed < e->host[best].placed)
			best = i;
	}
	return best;
}

/* ---- placed processes ---- */

static bool has_exited(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, 0) != 0;
}

static struct emulator_placed *placed_process(struct adv_emulator *e, pid_t pid)
{
	adv_list_for_each(struct emulator_placed, p, &e->placed, node)
		if (p->pid == pid && !has_exited(p->pidfd))
			return p;
	return NULL;
}

static int new_placed(struct adv_emulator *e, pid_t pid, struct emulator_placed **placed)
{
	struct emulator_placed *p;
	int error;

	if (e->placed_count == PLACED_MOST)
		return EUSERS;
	p = calloc(1, sizeof(*p));
	if (!p)
		return ENOMEM;
	p->pid = pid;
	p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (p->pidfd < 0) {
		error = errno;
		free(p);
		return error;
	}
	adv_list_add_tail(&e->placed, &p->node);
	e->placed_count++;
	*placed = p;
	return 0;
}

/* The process is on the host from now on, and on no other one. *fresh: its record, if that is new.
 * 0 or errno. */
static int put_process(struct adv_emulator *e, pid_t pid, uint32_t host,
		       struct emulator_placed **fresh)
{
	struct emulator_placed *p = placed_process(e, pid);
	int error = 0;

	if (p)
		e->host[p->host].placed--;
	else
		error = new_placed(e, pid, fresh);
	if (error)
		return error;
	p = p ? p : *fresh;
	p->host = host;
	e->host[host].placed++;
	return 0;
}

void adv_emulator_unplace(struct adv_emulator *e, struct emulator_placed *p)
{
	e->host[p->host].placed--;
	e->placed_count--;
	adv_list_del(&p->node);
	close(p->pidfd);
	free(p);
}

int adv_emulator_place(struct adv_emulator *e, pid_t pid, struct adv_port_message *m,
		       struct emulator_placed **placed)
{
	bool pattern = strpbrk(m->text, "*?[:") != NULL;
	uint32_t host = pattern ? least_placed(e, m->text) : host_named(e, m->text);
	int error;

	*placed = NULL;
	if (host == UINT32_MAX) {
		snprintf(m->text, sizeof(m->text),
			 pattern ? "no host matches: the fabric has hosts h0 to h%u"
				 : "the fabric has hosts h0 to h%u",
			 e->place.hosts - 1);
		return ENOENT;
	}
	error = put_process(e, pid, host, placed);
	/* A process of another PID namespace has no number here. Named hosts need none. */
	if (error && pattern) {
		snprintf(m->text, sizeof(m->text), "process %d cannot be watched: %s", (int)pid,
			 strerror(error));
		return error;
	}
	m->place = e->place;
	m->place.host = host;
	return 0;
}
