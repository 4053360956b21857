/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Configurations: what each key sets, and the line and reason of each error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "storage/nvme_server/config.h"

static const char whole[] = "# a comment\n"
			    "[target]\n"
			    "listen = 127.0.0.1\n"
			    "  listen=[::1]:4421  \r\n"
			    "referral = 192.0.2.1\n"
			    "workers = 3\n"
			    "buffers = 8MiB\n"
			    "address-share = 25\n"
			    "control = here\n"
			    "\n"
			    "[subsystem nqn.2026-01.test:one]\n"
			    "serial = S 1\n"
			    "allow-host = nqn.2026-01.test:a\n"
			    "allow-host = nqn.2026-01.test:b\n"
			    "[namespace]\n"
			    "path = a file = b\n"
			    "nsid = 7\n"
			    "read-only = yes\n"
			    "block-size = 512\n"
			    "buffered = yes\n"
			    "[namespace]\n"
			    "path = ram:1MiB\n"
			    "[ subsystem nqn.2026-01.test:two ]\n"
			    "[namespace]\n"
			    "path = c";

static void test_whole(void **state)
{
	char why[ADV_NVME_CONFIG_WHY] = "";
	struct adv_nvme_config c;

	assert_true(adv_nvme_config_parse(whole, strlen(whole), &c, why));
	assert_int_equal(c.listen.count, 2);
	assert_string_equal(c.listen.at[1], "[::1]:4421");
	assert_string_equal(c.referrals.at[0], "192.0.2.1");
	assert_int_equal(c.workers, 3);
	assert_int_equal(c.address_share, 25);
	assert_int_equal(c.buffer_bytes, 8 << 20);
	assert_string_equal(c.control, "here");
	assert_int_equal(c.subsystem_count, 2);
	assert_string_equal(c.subsystems[0].serial, "S 1");
	assert_string_equal(c.subsystems[0].hosts.at[1], "nqn.2026-01.test:b");
	assert_int_equal(c.subsystems[0].namespace_count, 2);
	assert_string_equal(c.subsystems[0].namespaces[0].path, "a file = b");
	assert_int_equal(c.subsystems[0].namespaces[0].nsid, 7);
	assert_true(c.subsystems[0].namespaces[0].read_only);
	assert_true(c.subsystems[0].namespaces[0].buffered);
	assert_int_equal(c.subsystems[0].namespaces[0].block_shift, 9);
	assert_int_equal(c.subsystems[0].namespaces[1].nsid, 0);
	assert_int_equal(c.subsystems[0].namespaces[1].block_shift, 12);
	assert_string_equal(c.subsystems[1].nqn, "nqn.2026-01.test:two");
	assert_string_equal(c.subsystems[1].serial, "adverb");
	assert_true(adv_nvme_config_complete(&c, why));
	adv_nvme_config_free(&c);
	assert_int_equal(c.subsystem_count, 0);
}

#define ONE "[subsystem nqn.2026-01.test:one]\n"

static const struct {
	const char *text, *why;
} wrong[] = {
	{"listen = x\n", "line 1: 'listen' stands before the first section"},
	{"[target]\nfoo\n", "line 2: 'foo' is neither"},
	{"[target]\nfoo = 1\n", "line 2: 'foo' is not a key of this section"},
	{"[target]\nnsid = 1\n", "line 2: 'nsid' is not a key of this section"},
	{"[target]\nworkers = 0\n", "line 2: '0' is not from 1 to 64"},
	{"[target]\nworkers = 1\nworkers = 2\n", "line 3: 'workers' is given twice"},
	{"[target]\naddress-share = 101\n", "line 2: '101' is not from 1 to 100"},
	{"[target]\nbuffers = 1B\n", "line 2: '1B' is not from 4MiB to 4294967295B"},
	{"[target]\ncontrol =\n", "line 2: 'control' has no value"},
	{"[target\n", "line 1: the section has no ']'"},
	{"[\n", "line 1: the section has no ']'"},
	{"[namespace]\n", "line 1: [namespace] stands before"},
	{"[disk]\n", "line 1: [disk] is none of"},
	{"[subsystem x]\n", "line 1: 'x' is not an NVMe qualified name"},
	{ONE ONE, "line 2: the subsystem is given twice"},
	{ONE "serial = 123456789012345678901\n", "line 2: the serial number has more"},
	{ONE "allow-host = friend\n", "line 2: 'friend' is not the qualified name"},
	{ONE "[namespace]\nnsid = 1025\n", "line 3: '1025' is not from 1 to 1024"},
	{ONE "[namespace]\nread-only = true\n", "line 3: 'true' is neither yes nor no"},
	{ONE "[namespace]\nblock-size = 1024\n", "line 3: the block size is neither"},
	{"[\x1b[31m]\n", "line 1: [?[31m] is none of"},
};

static void test_wrong(void **state)
{
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char why[ADV_NVME_CONFIG_WHY] = "";
		struct adv_nvme_config c;

		assert_false(adv_nvme_config_parse(wrong[i].text, strlen(wrong[i].text), &c, why));
		if (strncmp(why, wrong[i].why, strlen(wrong[i].why)) != 0)
			fail_msg("'%s', not '%s'", why, wrong[i].why);
		assert_null(c.subsystems);
	}
}

static void test_bytes(void **state)
{
	char why[ADV_NVME_CONFIG_WHY], *text = malloc(20000);
	struct adv_nvme_config c;

	assert_non_null(text);
	memset(text, 'x', 20000);
	assert_false(adv_nvme_config_parse(text, 20000, &c, why));
	assert_string_equal(why, "line 1: it has more than 8191 characters");
	memset(text, '#', 8191);
	text[8191] = '\n';
	assert_true(adv_nvme_config_parse(text, 8192, &c, why));
	text[5] = 0;
	assert_false(adv_nvme_config_parse(text, 8192, &c, why));
	assert_string_equal(why, "line 1: it has a character 0");
	free(text);
}

static void test_incomplete(void **state)
{
	static const char text[] = ONE "[namespace]\nnsid = 1\n";
	char why[ADV_NVME_CONFIG_WHY];
	struct adv_nvme_config c;

	assert_true(adv_nvme_config_parse(text, strlen(text), &c, why));
	assert_false(adv_nvme_config_complete(&c, why));
	assert_non_null(strstr(why, "namespace 1 of subsystem nqn.2026-01.test:one has no path"));
	adv_nvme_config_free(&c);
	assert_true(adv_nvme_config_parse("", 0, &c, why));
	assert_false(adv_nvme_config_complete(&c, why));
	assert_false(adv_nvme_config_read("/nowhere/at/all", &c, why));
	assert_string_equal(why, "No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_incomplete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
