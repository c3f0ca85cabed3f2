# Random programs are compared with the reference evaluators.
target_link_libraries(test_llvm scaly_oracle)
