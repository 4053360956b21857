/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The control socket: requests that change namespaces, refused ones, clients that say nothing. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "storage/nvme_server/control.h"

#define NQN  "nqn.2026-01.test:one"
#define HEAD "[subsystem " NQN "]\n[namespace]\n"

struct lab {
	struct adv_nvme_shared shared;
	struct adv_nvme_subsystems subsystems;
	struct adv_nvme_control control;
	char name[32];
};

static int setup(void **state)
{
	static const char text[] = HEAD "path = ram:1MiB\n";
	static struct lab lab;
	struct adv_nvme_target_config target = {0};
	struct adv_nvme_config config;
	char why[ADV_NVME_BACKEND_WHY] = "";

	memset(&lab, 0, sizeof(lab));
	pthread_mutex_init(&lab.shared.lock, NULL);
	lab.shared.target = adv_nvme_target_create(&target);
	assert_non_null(lab.shared.target);
	assert_true(adv_nvme_config_parse(text, strlen(text), &config, why));
	assert_true(adv_nvme_subsystems_create(&lab.subsystems, &lab.shared, &config, why));
	adv_nvme_config_free(&config);
	snprintf(lab.name, sizeof(lab.name), "test/%d", getpid());
	assert_true(adv_nvme_control_open(&lab.control, lab.name, &lab.subsystems, why));
	*state = &lab;
	return 0;
}

static int teardown(void **state)
{
	struct lab *lab = *state;

	adv_nvme_control_close(&lab->control);
	adv_nvme_target_destroy(lab->shared.target);
	adv_nvme_subsystems_destroy(&lab->subsystems);
	return 0;
}

static void expect(struct lab *lab, const char *text, const char *wanted)
{
	char reply[ADV_KIT_CONTROL_REPLY] = "";

	adv_nvme_control_handle(&lab->subsystems, text, strlen(text), reply);
	if (strncmp(reply, wanted, strlen(wanted)) != 0)
		fail_msg("'%s', not '%s'", reply, wanted);
}

static void test_requests(void **state)
{
	struct lab *lab = *state;

	expect(lab, "add\n" HEAD "path = ram:1MiB\n", "ok 2");
	expect(lab, "add\n" HEAD "path = ram:1MiB\nnsid = 9\nread-only = yes\n", "ok 9");
	assert_int_equal(lab->subsystems.count, 3);
	expect(lab, "add\n" HEAD "path = ram:1MiB\nnsid = 9\n", "namespace 9 exists");
	expect(lab, "add\n" HEAD "path = /nowhere/at/all\n", "cannot open");
	assert_int_equal(lab->subsystems.count, 3);
	expect(lab, "remove\n" HEAD "nsid = 2\n", "ok 2");
	assert_int_equal(lab->subsystems.count, 2);
	expect(lab, "remove\n" HEAD "nsid = 2\n", "the subsystem has no namespace 2");
	expect(lab, "remove\n[subsystem nqn.2026-01.test:no]\n[namespace]\nnsid = 1\n",
	       "there is no subsystem");
	expect(lab, "add\n[subsystem " ADV_NVME_DISCOVERY_NQN "]\n[namespace]\npath = ram:1MiB\n",
	       "there is no subsystem");
}

/* Without a name, a request is for the only subsystem. */
static void test_only_subsystem(void **state)
{
	struct lab *lab = *state;
	struct adv_nvme_subsystem *second;

	expect(lab, "add\n[namespace]\npath = ram:1MiB\n", "ok 2");
	expect(lab, "remove\n[namespace]\nnsid = 2\n", "ok 2");
	assert_int_equal(adv_nvme_target_add_subsystem(lab->shared.target, "nqn.2026-01.test:two",
						       "S", &second),
			 0);
	expect(lab, "add\n[namespace]\npath = ram:1MiB\n",
	       "the target has 2 subsystems: name one by --subsystem NQN");
	expect(lab, "add\n" HEAD "path = ram:1MiB\n", "ok 2");
}

static void test_refused(void **state)
{
	struct lab *lab = *state;

	expect(lab, "", "the request is neither");
	expect(lab, "add", "the request is neither");
	expect(lab, "destroy everything\n", "the request is neither");
	expect(lab, "add\n", "the request does not have one namespace");
	expect(lab, "add\n" HEAD "path = ram:1MiB\n[namespace]\n", "the request does not have one");
	expect(lab, "add\n" HEAD, "the request is incomplete");
	expect(lab, "remove\n" HEAD, "the request is incomplete");
	expect(lab, "remove\n" HEAD "nsid = 1\npath = x\n", "the request is incomplete");
	expect(lab, "change\n" HEAD "nsid = 1\n", "the request is incomplete");
	expect(lab, "add\nx\n", "line 1:");
	assert_int_equal(lab->subsystems.count, 1);
}

static int connect_to(const struct lab *lab)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	int n = snprintf(sa.sun_path + 1, sizeof(sa.sun_path) - 1, "adverb-nvme/%s", lab->name);
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, len), 0);
	return fd;
}

/* Clients that send nothing make room for one that does. */
static void test_silent_clients(void **state)
{
	struct lab *lab = *state;
	static const char text[] = "remove\n" HEAD "nsid = 1\n";
	struct pollfd fds[1 + ADV_NVME_CONTROL_CLIENTS];
	int silent[20], fd;
	char reply[64] = "";

	for (unsigned i = 0; i < 20; i++) {
		silent[i] = connect_to(lab);
		assert_false(adv_nvme_control_run(&lab->control));
	}
	assert_int_equal(adv_nvme_control_fds(&lab->control, fds), 1 + ADV_NVME_CONTROL_CLIENTS);
	fd = connect_to(lab);
	assert_int_equal(send(fd, text, strlen(text), 0), (ssize_t)strlen(text));
	assert_true(adv_nvme_control_run(&lab->control));
	assert_int_equal(recv(fd, reply, sizeof(reply) - 1, MSG_DONTWAIT), 4);
	assert_string_equal(reply, "ok 1");
	close(fd);
	for (unsigned i = 0; i < 20; i++)
		close(silent[i]);
	assert_false(adv_nvme_control_run(&lab->control));
	assert_int_equal(adv_nvme_control_fds(&lab->control, fds), 1);
}

static void test_long_request(void **state)
{
	struct lab *lab = *state;
	static char text[2 * ADV_KIT_CONTROL_MESSAGE];
	int fd = connect_to(lab);
	char reply[64] = "";

	memset(text, '\n', sizeof(text));
	assert_int_equal(send(fd, text, sizeof(text), 0), sizeof(text));
	adv_nvme_control_run(&lab->control);
	assert_true(recv(fd, reply, sizeof(reply) - 1, MSG_DONTWAIT) > 0);
	assert_string_equal(reply, "the request is too long");
	close(fd);
}

/* A process of another user gets no reply. Only root can make one. */
static void test_other_user(void **state)
{
	struct lab *lab = *state;
	static const char text[] = "remove\n" HEAD "nsid = 1\n";
	pid_t child;
	int status;

	if (geteuid() != 0)
		return;
	child = fork();
	if (child == 0) {
		char reply[64], why[ADV_KIT_CONTROL_REPLY];
		uint32_t nsid;
		int fd;

		if (setuid(65534) != 0)
			_exit(1);
		fd = connect_to(lab);
		if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0 && errno != EPIPE)
			_exit(2);
		if (recv(fd, reply, sizeof(reply), 0) > 0)
			_exit(3);
		_exit(adv_kit_control_request("none", text, &nsid, why) ? 4 : 0);
	}
	assert_true(child > 0);
	for (unsigned i = 0; i < 1000 && waitpid(child, &status, WNOHANG) == 0; i++) {
		assert_false(adv_nvme_control_run(&lab->control));
		usleep(10000);
	}
	assert_int_equal(status, 0);
	assert_int_equal(lab->subsystems.count, 1);
}

static void handler(int number)
{
}

/* Signals, and a stop, do not end a request. */
static void test_interrupted(void **state)
{
	struct lab *lab = *state;
	const struct itimerval often = {{.tv_usec = 5000}, {.tv_usec = 5000}};
	const struct sigaction action = {.sa_handler = handler};
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		char why[ADV_KIT_CONTROL_REPLY];
		uint32_t nsid;

		sigaction(SIGALRM, &action, NULL);
		setitimer(ITIMER_REAL, &often, NULL);
		_exit(adv_kit_control_request(lab->name, "remove\n" HEAD "nsid = 1\n", &nsid, why)
			      ? 0
			      : 1);
	}
	assert_true(child > 0);
	usleep(50000); /* without a reply */
	for (unsigned i = 0; i < 1000 && waitpid(child, &status, WNOHANG) == 0; i++) {
		adv_nvme_control_run(&lab->control);
		usleep(10000);
	}
	assert_int_equal(status, 0);
}

static void test_names(void **state)
{
	struct lab *lab = *state;
	struct adv_nvme_control second;
	char why[ADV_NVME_BACKEND_WHY], name[100];
	struct pollfd fds[1 + ADV_NVME_CONTROL_CLIENTS];

	assert_false(adv_nvme_control_open(&second, lab->name, &lab->subsystems, why));
	assert_non_null(strstr(why, "another target has the same name"));
	assert_int_equal(adv_nvme_control_fds(&second, fds), 0);
	assert_false(adv_nvme_control_run(&second));
	memset(name, 'n', sizeof(name));
	name[99] = 0;
	assert_false(adv_nvme_control_open(&second, name, &lab->subsystems, why));
	adv_nvme_control_close(&second);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_requests),	   TEST(test_only_subsystem), TEST(test_refused),
		TEST(test_silent_clients), TEST(test_long_request),   TEST(test_other_user),
		TEST(test_interrupted),	   TEST(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
