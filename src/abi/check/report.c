/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/check/report.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/sys.h"
#include "abi/check/object.h"
#include "abi/check/observer.h"

#define MOST_FINDINGS 1000 /* of a process; further ones are dropped */

/* A finding that is to be sent. Frames are absolute addresses until it is sent. */
struct kept {
	struct kept *next;
	struct adv_check_message message;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool inside;
static _Thread_local int saved_errno;

/* Under the lock. */
static uint64_t places[MOST_FINDINGS];
static unsigned place_count;
static struct kept *first, **last = &first;

void adv_check_lock(void)
{
	saved_errno = errno;
	inside = true;
	pthread_mutex_lock(&lock);
}

bool adv_check_lock_soon(void)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += 100000000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	saved_errno = errno;
	inside = pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &end) == 0;
	return inside;
}

void adv_check_keep_errno(void)
{
	saved_errno = errno;
}

bool adv_check_is_inside(void)
{
	return inside;
}

/* ---- sending ---- */

static uint32_t module_number(struct adv_check_message *m, const char *path)
{
	char own[ADV_CHECK_PATH];
	uint32_t i;

	if (!*path) { /* the program itself */
		ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

		own[n > 0 ? n : 0] = 0;
		path = own;
	}
	for (i = 0; i < m->modules; i++)
		if (strcmp(m->module[i], path) == 0)
			return i;
	if (i == ADV_CHECK_MODULES || strlen(path) >= ADV_CHECK_PATH)
		return ADV_CHECK_NO_MODULE;
	strcpy(m->module[m->modules++], path);
	return i;
}

static bool object_contains(const struct dl_phdr_info *info, uint64_t address)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && address >= start && address < start + p->p_memsz)
			return true;
	}
	return false;
}

/* Makes the addresses inside this loaded file relative to it. */
static int relate_to_file(struct dl_phdr_info *info, size_t size, void *message)
{
	struct adv_check_message *m = message;

	for (unsigned s = 0; s < m->stacks; s++) {
		for (unsigned i = 0; i < m->stack[s].frames; i++) {
			struct adv_check_frame *f = &m->stack[s].frame[i];

			if (f->module != ADV_CHECK_NO_MODULE || !object_contains(info, f->address))
				continue;
			f->module = module_number(m, info->dlpi_name);
			if (f->module != ADV_CHECK_NO_MODULE)
				f->address -= info->dlpi_addr;
		}
	}
	return 0;
}

/* Sends a message to `adverb check` by a connection of its own, so that no descriptor must outlive
 * what the program does with its descriptors. */
static bool send_message(const struct adv_check_message *m)
{
	const char *path = secure_getenv(ADV_CHECK_ENVIRONMENT);
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	bool sent;
	int fd;

	if (!path || strlen(path) >= sizeof(to.sun_path))
		return false;
	strcpy(to.sun_path, path);
	fd = adv_sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	sent = adv_sys_connect(fd, &to, sizeof(to)) == 0 &&
	       adv_sys_sendto(fd, m, sizeof(*m), MSG_NOSIGNAL, NULL, 0) == (ssize_t)sizeof(*m);
	adv_sys_close(fd);
	return sent;
}

static void send_finding(struct kept *k)
{
	struct adv_check_message *m = &k->message;

	dl_iterate_phdr(relate_to_file, m);
	if (!send_message(m))
		fprintf(stderr, "adverb check: process %d cannot report: %s: %s\n", (int)m->pid,
			adv_check_rules[m->rule].name, m->what);
}

void adv_check_unlock(void)
{
	struct kept *k = first;

	first = NULL;
	last = &first;
	pthread_mutex_unlock(&lock);
	while (k) {
		struct kept *next = k->next;

		send_finding(k);
		free(k);
		k = next;
	}
	inside = false;
	errno = saved_errno;
}

void adv_check_forked_report(void)
{
	while (first) {
		struct kept *k = first;

		first = k->next;
		free(k);
	}
	last = &first;
}

/* ---- keeping ---- */

static uint64_t place_of(const struct adv_check_finding *f)
{
	const struct adv_check_stack *s = f->fault ? f->fault : f->more[0].stack;
	uint64_t hash = s ? adv_check_stack_hash(s) : 0;

	return (hash ^ (uint64_t)f->rule << 56) * 0x9e3779b97f4a7c15u;
}

bool adv_check_is_known(const struct adv_check_finding *f)
{
	uint64_t place = place_of(f);

	for (unsigned i = 0; i < place_count; i++)
		if (places[i] == place)
			return true;
	return place_count == MOST_FINDINGS;
}

static void add_stack(struct adv_check_message *m, const char *title,
		      const struct adv_check_stack *s)
{
	if (!s)
		return;
	snprintf(m->stack[m->stacks].title, ADV_CHECK_TITLE, "%s", title);
	m->stack[m->stacks].frames = s->count;
	for (unsigned i = 0; i < s->count; i++)
		m->stack[m->stacks].frame[i] =
			(struct adv_check_frame){s->frame[i], ADV_CHECK_NO_MODULE, 0};
	m->stacks++;
}

void adv_check_find(const struct adv_check_finding *f, const char *fmt, ...)
{
	struct adv_check_message *m;
	struct kept *k;
	va_list args;

	if (adv_check_is_known(f))
		return;
	places[place_count++] = place_of(f);
	k = calloc(1, sizeof(*k));
	if (!k)
		return;
	m = &k->message;
	m->magic = ADV_CHECK_MAGIC;
	m->rule = f->rule;
	m->pid = getpid();
	m->tid = gettid();
	snprintf(m->program, sizeof(m->program), "%s", program_invocation_short_name);
	va_start(args, fmt);
	vsnprintf(m->what, sizeof(m->what), fmt, args);
	va_end(args);
	if (f->about)
		adv_check_object_history(f->about, m->history);
	add_stack(m, "", f->fault);
	for (unsigned i = 0; i < ADV_CHECK_STACKS - 1; i++)
		add_stack(m, f->more[i].title, f->more[i].stack);
	*last = k;
	last = &k->next;
}
