# SPDX-License-Identifier: LGPL-3.0-or-later
if(RA_CLIENT)
  # agent_fuzzed_test(TEST FUZZER SOURCE...): a test in which FUZZER runs a moment. For long runs there
  # is the program FUZZER [libFuzzer's options], with what it tests out of SOURCEs.
  function(agent_fuzzed_test test fuzzer)
    ra_unit_test(${test} ra_client)
    target_sources(test_${test} PRIVATE ${fuzzer}.c)
    if(CMAKE_C_COMPILER_ID MATCHES Clang)
      list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/)
      add_executable(${fuzzer} ${fuzzer}.c ${ARGN})
      target_include_directories(${fuzzer} PRIVATE ${PROJECT_SOURCE_DIR}/src
                                 ${PROJECT_SOURCE_DIR}/client)
      target_compile_options(${fuzzer} PRIVATE -fsanitize=fuzzer,address,undefined)
      target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer,address,undefined)
    endif()
  endfunction()

  agent_fuzzed_test(agent_mounts fuzz_mountinfo client/mounts.c)
  agent_fuzzed_test(agent_settings fuzz_settings client/settings.c client/settings_read.c
                    client/fstab.c src/common/log.c)
  agent_fuzzed_test(agent_fstab fuzz_fstab client/fstab.c)
  agent_fuzzed_test(agent_knobs fuzz_state client/state.c client/history.c client/whole_file.c
                    client/knob.c src/common/log.c)
  target_link_options(test_agent_knobs PRIVATE -Wl,--wrap=open64)
  agent_fuzzed_test(agent_mountstats fuzz_mountstats client/mountstats.c)
  ra_unit_test(agent_decide ra_client)
  target_compile_definitions(test_agent_decide PRIVATE
                             MANUAL="${PROJECT_SOURCE_DIR}/doc/ca-nfs-agent.8")
  ra_unit_test(agent_accelerate ra_client)
  ra_unit_test(agent_use ra_client)
  ra_unit_test(agent_burst ra_client)
  ra_unit_test(agent_doubt ra_client)
  ra_unit_test(agent_halt ra_client)
  ra_unit_test(agent_groups ra_client)
  ra_unit_test(agent_keep ra_client)
  ra_unit_test(agent_turns ra_client)
  ra_unit_test(agent_calls ra_client)
  ra_unit_test(agent_machine ra_client)
  ra_unit_test(agent_state ra_client)
  ra_unit_test(agent_notify ra_client)
  ra_unit_test(agent_watch ra_client)
  ra_unit_test(agent_amiss ra_client)
  ra_unit_test(agent_metrics ra_client)
endif()
